'use strict';
// Shows what is new without losing the reader's place. Without this script the page reloads itself as a whole.

const EVERY = 10_000;
const main = document.querySelector('main');
const stale = document.getElementById('stale');
let lastAnswer = new Date();
let asking = false;

// Makes `old` say what `fresh` says and touches nothing that is equal: focus, selection, open folds and the place of
// a screen reader stay. What has an `id` is known by it, wherever it went.
function patch(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeType !== Node.ELEMENT_NODE) {
    old.nodeValue = fresh.nodeValue;
    return;
  }
  patchAttributes(old, fresh);
  const known = new Map([...old.children].filter(child => child.id).map(child => [child.id, child]));
  let place = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const same = child.id ? known.get(child.id) : isAlike(place, child) ? place : undefined;
    if (same === undefined) {
      old.insertBefore(child, place);
      continue;
    }
    if (same === place) place = place.nextSibling;
    else old.insertBefore(same, place);
    patch(same, child);
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

function patchAttributes(old, fresh) {
  // Whether a fold is open is the reader's own business.
  const isOurs = ({ name }) => !(old.localName === 'details' && name === 'open');
  for (const { name } of [...old.attributes].filter(isOurs)) {
    if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const { name, value } of [...fresh.attributes].filter(isOurs)) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}

function isAlike(old, fresh) {
  return old !== null && !old.id && old.nodeName === fresh.nodeName;
}

async function ask() {
  const answer = await fetch(location.href, { cache: 'no-store', signal: AbortSignal.timeout(EVERY) });
  if (!answer.ok) throw new Error(`it answers ${answer.status}`);
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
  if (!fresh.querySelector('main#databases')) throw new Error('it answers something else');
  return fresh;
}

function show(fresh) {
  const focused = document.activeElement;
  patch(main, fresh.querySelector('main'));
  // An element that was moved has lost the focus.
  if (focused.isConnected && document.activeElement !== focused) focused.focus({ preventScroll: true });
  document.title = fresh.title;
}

async function refresh() {
  if (asking) return;
  asking = true;
  try {
    show(await ask());
    lastAnswer = new Date();
    stale.textContent = '';
  } catch (error) {
    const since = lastAnswer.toISOString().slice(0, 19) + 'Z';
    stale.textContent = `No answer from keysweep since ${since}: what is shown here is old.`;
  } finally {
    asking = false;
  }
}

setInterval(() => document.hidden || refresh(), EVERY);
document.addEventListener('visibilitychange', () => document.hidden || refresh());
main.addEventListener('click', event => {
  if (event.target.id !== 'refresh' || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  refresh();
});
