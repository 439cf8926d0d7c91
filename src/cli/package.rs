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

pub(super) fn man(printer: &Printer) -> Result<Outcome, Exit> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page)?;
    printer.text(&page)?;
    Ok(Outcome::Yes)
}
