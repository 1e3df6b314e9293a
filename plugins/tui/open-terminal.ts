import { emitKeypressEvents, type Interface, type Key as ReadlineKey } from 'node:readline';
import { render } from 'ink';
import { type ClientCommand, type CommandCaller, type CommandInput, MortiseError } from 'mortise/sdk';
import { createElement } from 'react';
import { ChatScreen } from './session/chat-screen.js';
import { handleKey, type Key } from './session/handle-key.js';
import { App } from './view/app.js';
import { localeOf } from './words.js';

/** Switches to the alternate screen with bracketed paste, and back with the cursor shown. */
const enter = '\u001b[?1049h\u001b[?2004h\u001b[H';
const leave = '\u001b[?2004l\u001b[?25h\u001b[?1049l';
const clear = '\u001b[2J\u001b[H';
/** Milliseconds that Esc may be the beginning of another key. */
const escapeTimeoutMs = 50;

/** `mortise tui`: runs until the user quits; the terminal is then restored, also after an error. */
const openTerminal: ClientCommand = async (input, caller) => {
  const { stdin, stdout, env, signal } = caller;
  if (!stdin.isTTY || !stdout.isTTY || env.TERM === 'dumb') {
    throw new MortiseError('no_terminal', 'The terminal UI needs a terminal for input and output.', {
      hint: 'Use mortise chats send in scripts.',
    });
  }
  signal.throwIfAborted();
  const restore = takeTerminal(caller);
  let failure: unknown;
  try {
    failure = await show(input, caller);
  } finally {
    restore();
  }
  signal.throwIfAborted();
  if (failure !== undefined) throw failure;
  return { exitCode: 0, data: { ended: true }, text: '' };
};

export default openTerminal;

/** Shows the UI until it ends. @returns the error with which it failed */
async function show(input: CommandInput, caller: CommandCaller): Promise<unknown> {
  const { stdin, stdout, env, signal } = caller;
  const ended = Promise.withResolvers<unknown>();
  const screen = new ChatScreen({
    connection: {
      apiBase: caller.apiBase,
      apiKey: caller.apiKey ?? '',
      userId: textOf(input, 'userId') ?? env.MORTISE_USER_ID ?? 'demo-user',
      channel: (textOf(input, 'channel') ?? env.MORTISE_CHANNEL ?? 'console').toLowerCase(),
    },
    locale: localeOf(textOf(input, 'locale') ?? env.MORTISE_LOCALE ?? 'en-US'),
    sessionId: textOf(input, 'sessionId'),
    templates: booleanOf(env.MORTISE_ENABLE_PROMPT_TEMPLATES),
    size: sizeOf(stdout),
    quit: () => ended.resolve(undefined),
  });
  const fail = (error: unknown): void => ended.resolve(error ?? new Error('The terminal UI failed.'));
  const abort = (): void => ended.resolve(undefined);
  const resize = (): void => {
    stdout.write(clear);
    screen.update(sizeOf(stdout));
  };
  const stopKeys = readKeys(stdin, (key) => void handleKey(screen, key).catch(fail));
  stdout.on('resize', resize);
  signal.addEventListener('abort', abort);
  process.on('SIGHUP', abort);
  process.on('uncaughtException', fail);
  process.on('unhandledRejection', fail);
  const ui = render(createElement(App, { screen }), { stdin, stdout, exitOnCtrlC: false, patchConsole: true });
  ui.waitUntilExit().then(() => ended.resolve(undefined), fail);
  try {
    void screen.open().catch(fail);
    return await ended.promise;
  } finally {
    screen.close();
    ui.unmount();
    stopKeys();
    stdout.off('resize', resize);
    signal.removeEventListener('abort', abort);
    process.off('SIGHUP', abort);
    process.off('uncaughtException', fail);
    process.off('unhandledRejection', fail);
  }
}

/** Switches to the alternate screen. @returns a function that switches back, once; it also runs when the process exits. */
function takeTerminal({ stdin, stdout }: CommandCaller): () => void {
  let isTaken = true;
  const restore = (): void => {
    if (!isTaken) return;
    isTaken = false;
    process.off('exit', restore);
    stdin.setRawMode(false);
    stdout.write(leave);
  };
  process.on('exit', restore);
  stdout.write(enter);
  return restore;
}

/** Reports keys and pasted texts in order. @returns a function that stops it */
function readKeys(stdin: NodeJS.ReadStream, onKey: (key: Key) => void): () => void {
  let pasted: string | undefined;
  const listener = (text: string | undefined, key: ReadlineKey): void => {
    if (key.name === 'paste-start') pasted = '';
    else if (key.name === 'paste-end') {
      const all = pasted ?? '';
      pasted = undefined;
      if (all !== '') onKey({ name: undefined, ctrl: false, meta: false, shift: false, text: all });
    } else if (pasted !== undefined) pasted += key.sequence ?? text ?? '';
    else onKey(keyOf(text, key));
  };
  // Only this member of an interface is read.
  emitKeypressEvents(stdin, { escapeCodeTimeout: escapeTimeoutMs } as unknown as Interface);
  stdin.setRawMode(true);
  stdin.on('keypress', listener);
  stdin.resume();
  return () => {
    stdin.off('keypress', listener);
    stdin.pause();
  };
}

function keyOf(text: string | undefined, { name, ctrl = false, shift = false, ...key }: ReadlineKey): Key {
  // Node reports Esc by itself as Alt with Esc.
  const meta = key.meta === true && name !== 'escape';
  const isTyped = text !== undefined && !ctrl && !meta && !/[\p{Cc}]/u.test(text);
  return { name, ctrl, meta, shift, text: isTyped ? text : '' };
}

const sizeOf = ({ columns = 80, rows = 24 }: NodeJS.WriteStream) => ({ columns, rows });

function textOf({ options }: CommandInput, name: string): string | undefined {
  const value = options[name];
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

function booleanOf(text: string | undefined): boolean | undefined {
  return text === undefined || text === '' ? undefined : /^(true|1|yes|on)$/i.test(text);
}
