import { once } from 'node:events';
import type { Debugger } from 'node:inspector';
import { Session } from 'node:inspector/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { runningPluginExpression } from '../kernel/attribution.js';

/** Code folders of the plugins, written as in a stack, with the slash after them. */
export type CodeFolders = readonly (readonly [folder: string, key: string])[];

/** How often the stack is looked at. */
const samples = 25;
/** Sampling ends after this when a plugin was seen, milliseconds. */
const enoughMs = 2_000;
/** Sampling ends after this in any case, milliseconds. Native code cannot be paused, so it is never seen. */
const patienceMs = 10_000;

/** Validators run on behalf of the plugin that brought the schema, whichever plugin asked for the check. */
const validatorFolder = new URL('../schema/', import.meta.url).href;

/**
 * Finds out, as a debugger in another thread, whose code the main thread runs. It is paused several times: a loop that
 * awaits in between is as often in the platform's own code as in the plugin's. Attaching pauses it for some 200 ms.
 *
 * @returns the plugin whose code was seen most often
 */
export async function whoRuns(folders: CodeFolders): Promise<string | undefined> {
  const session = new Session();
  const urls = new Map<string, string>();
  const found: string[] = [];
  session.connectToMainThread();
  session.on('Debugger.scriptParsed', ({ params }) => urls.set(params.scriptId, params.url));
  const patience = new AbortController();
  try {
    await Promise.race([
      sample(session, urls, folders, found),
      delay(patienceMs, undefined, { signal: patience.signal }),
    ]);
  } catch {
    // What was seen before counts.
  } finally {
    patience.abort();
    session.disconnect();
  }
  const counted = [...Map.groupBy(found, (owner) => owner)].sort(([, a], [, b]) => b.length - a.length);
  return counted[0]?.[0];
}

/** Adds the plugin seen at each pause to `found`. */
async function sample(
  session: Session,
  urls: ReadonlyMap<string, string>,
  folders: CodeFolders,
  found: string[],
): Promise<void> {
  await session.post('Debugger.enable');
  const enoughAt = performance.now() + enoughMs;
  const patienceEnds = performance.now() + patienceMs;
  for (let taken = 0; performance.now() < patienceEnds; taken += 1) {
    if (found.length > 0 && (taken >= samples || performance.now() > enoughAt)) return;
    const paused = once(session, 'Debugger.paused') as Promise<[{ readonly params: Debugger.PausedEventDataType }]>;
    await session.post('Debugger.pause');
    const [{ params }] = await paused;
    const addresses = params.callFrames.map(({ url, location }) => url || urls.get(location.scriptId) || '');
    const owner = ownerOf(addresses, await accountOf(session, params.callFrames[0]?.callFrameId), folders);
    await session.post('Debugger.resume');
    if (owner !== undefined) found.push(owner);
    // A random delay, so that the pauses do not always meet the same phase of a loop.
    await delay(1 + Math.random() * 9);
  }
}

/** The plugin of the call that a paused thread runs in, whatever code it is in. */
async function accountOf(session: Session, callFrameId: string | undefined): Promise<string | undefined> {
  if (callFrameId === undefined) return undefined;
  const { result } = await session.post('Debugger.evaluateOnCallFrame', {
    callFrameId,
    expression: runningPluginExpression,
    silent: true,
  });
  return typeof result.value === 'string' ? result.value : undefined;
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
