import type { Debugger } from 'node:inspector';
import { Session } from 'node:inspector/promises';
import { runningPluginExpression } from '../kernel/attribution.js';

/** Code folders of the plugins, written as in a stack, with the slash after them. */
export type CodeFolders = readonly (readonly [folder: string, key: string])[];

export type Frames = readonly Debugger.CallFrame[];

/** How often the stack is looked at. */
const samples = 25;
/** Sampling ends after this when a plugin was seen, milliseconds. */
const enoughMs = 2_000;
/** Sampling ends after this in any case, milliseconds. Native code cannot be paused, so it is never seen. */
const patienceMs = 10_000;

/** Validators run on behalf of the plugin that brought the schema, whichever plugin asked for the check. */
const validatorFolder = new URL('../schema/', import.meta.url).href;

/** The main thread as a debugger in another one sees it. Attaching pauses the main thread for some 200 ms. */
export class MainThreadView {
  readonly #session = new Session();
  readonly #urls = new Map<string, string>();
  /** Receives the requested pause. */
  #onPause: ((frames: Frames) => void) | undefined;

  /** @param onFull the heap of the main thread is full: it is paused there, and may grow until the view is closed */
  constructor(onFull?: (frames: Frames) => void) {
    this.#session.connectToMainThread();
    this.#session.on('Debugger.scriptParsed', ({ params }) => this.#urls.set(params.scriptId, params.url));
    this.#session.on('Debugger.paused', ({ params }) => {
      const asked = this.#onPause;
      this.#onPause = undefined;
      if (asked) asked(params.callFrames);
      else if (onFull && (params.reason as string) === 'OOM') onFull(params.callFrames);
      // A `debugger` statement also pauses it.
      else void this.#ask('Debugger.resume');
    });
    void this.#ask('Debugger.enable');
  }

  /**
   * Pauses the main thread several times: a loop that awaits in between is as often in the platform's own code as in the
   * plugin's.
   *
   * @param first the stack at which it is paused now
   * @returns the plugin whose code was seen most often
   */
  async whoRuns(folders: CodeFolders, first?: Frames): Promise<string | undefined> {
    const found: string[] = [];
    let late: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => {
      late = setTimeout(resolve, patienceMs);
    });
    await Promise.race([this.#sample(folders, found, first).catch(() => undefined), patience]);
    clearTimeout(late);
    const counted = [...Map.groupBy(found, (owner) => owner)].sort(([, a], [, b]) => b.length - a.length);
    return counted[0]?.[0];
  }

  close(): void {
    this.#session.disconnect();
  }

  /** Adds the plugin seen at each pause to `found`. */
  async #sample(folders: CodeFolders, found: string[], first: Frames | undefined): Promise<void> {
    const enoughAt = performance.now() + enoughMs;
    const patienceEnds = performance.now() + patienceMs;
    for (let taken = 0; performance.now() < patienceEnds; taken += 1) {
      if (found.length > 0 && (taken >= samples || performance.now() > enoughAt)) return;
      const frames = (taken === 0 && first) || (await this.#pause());
      const addresses = frames.map((frame) => frame.url || this.#urls.get(frame.location.scriptId) || '');
      const owner = ownerOf(addresses, await this.#accountOf(frames[0]?.callFrameId), folders);
      await this.#session.post('Debugger.resume');
      if (owner !== undefined) found.push(owner);
      // A random delay, so that the pauses do not always meet the same phase of a loop.
      await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 9));
    }
  }

  async #pause(): Promise<Frames> {
    const paused = new Promise<Frames>((resolve) => {
      this.#onPause = resolve;
    });
    await this.#session.post('Debugger.pause');
    return paused;
  }

  /** The plugin of the call that a paused thread runs in, whatever code it is in. */
  async #accountOf(callFrameId: string | undefined): Promise<string | undefined> {
    if (callFrameId === undefined) return undefined;
    const { result } = await this.#session.post('Debugger.evaluateOnCallFrame', {
      callFrameId,
      expression: runningPluginExpression,
      silent: true,
    });
    return typeof result.value === 'string' ? result.value : undefined;
  }

  /** The answer is not awaited; a closed view gives none. */
  async #ask(method: 'Debugger.enable' | 'Debugger.resume'): Promise<void> {
    await this.#session.post(method).catch(() => undefined);
  }
}

/**
 * The innermost plugin on the stack. A check against a schema, and a stack without a plugin, belong to the plugin of the
 * call.
 *
 * @param addresses of the code on the stack, innermost first
 */
function ownerOf(addresses: readonly string[], account: string | undefined, folders: CodeFolders): string | undefined {
  for (const url of addresses) {
    const owner = folders.find(([folder]) => url.includes(folder));
    if (owner) return owner[1];
    if (account !== undefined && url.startsWith(validatorFolder)) return account;
  }
  return account;
}
