//! `completions` and `man`: what packages install.

use clap::CommandFactory;

use super::print::Printer;
use super::{Cli, Exit, Outcome};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The shell
    shell: clap_complete::Shell,
}

pub(super) fn completions(args: &Args, printer: &Printer) -> Result<Outcome, Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "keysweep", &mut script);
    printer.text(&script)?;
    Ok(Outcome::Yes)
}

/// One page of all commands, so that a package installs one file.
pub(super) fn man(printer: &Printer) -> Result<Outcome, Exit> {
    let mut command = Cli::command();
    // Fills in the global flags and the full names of the commands.
    command.build();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
        commands_of(command, &mut page)?;
    }
    printer.text(&page)?;
    Ok(Outcome::Yes)
}

fn commands_of(command: &clap::Command, page: &mut Vec<u8>) -> std::io::Result<()> {
    if command.get_subcommands().next().is_none() {
        return clap_mangen::Man::new(command.clone()).render(page);
    }
    let own = command.get_subcommands().filter(|command| command.get_name() != "help");
    own.into_iter().try_for_each(|command| commands_of(command, page))
}
