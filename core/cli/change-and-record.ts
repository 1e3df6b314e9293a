import { userInfo } from 'node:os';
import type { OfflineControl } from '../app/offline.js';
import { isCodedError } from '../sdk/errors.js';
import type { PlatformChange } from '../sdk/events.js';
import { oneLine, printableJson } from '../sdk/text.js';
import type { Client } from './client.js';
import type { CommandEnvironment } from './environment.js';

type FileWrites = ReturnType<OfflineControl['writes']>;
type Operation = Exclude<PlatformChange['operation'], 'edit_file'>;

/**
 * Changes a plugin in the running server or, without one, in its files. A change without a server, or its refusal, is
 * recorded here; failing to record it does not undo it.
 */
export async function changeAndRecord<T>(
  environment: CommandEnvironment,
  operation: Operation,
  key: string,
  change: {
    readonly online: (server: Client) => Promise<T>;
    readonly offline: (engine: OfflineControl) => Promise<T>;
  },
): Promise<T> {
  /** Plugins that record the change: the listeners before and after it. */
  const listeners = new Set<string>();
  let writes: FileWrites = [];
  const note = (engine: OfflineControl): void => {
    for (const one of engine.listenersOf('platform-changed')) listeners.add(one);
  };
  try {
    const result = await environment.either<T>(change.online, async (engine) => {
      note(engine);
      const changed = await change.offline(engine);
      note(engine);
      writes = engine.writes();
      return changed;
    });
    await record(environment, [...listeners], writes, operation, key);
    return result;
  } catch (error) {
    const refusal = isCodedError(error) ? error.code : 'internal_error';
    await record(environment, [...listeners], writes, operation, key, refusal);
    throw error;
  }
}

async function record(
  { offline, process, json }: CommandEnvironment,
  listeners: readonly string[],
  writes: FileWrites,
  operation: Operation,
  key: string,
  refusal?: string,
): Promise<void> {
  if (listeners.length === 0) return;
  const target = key.slice(0, 64);
  const details = { plugin: target, offline: true, user: userInfo().username };
  const { recordOffline } = await import('../app/run-offline.js');
  try {
    const change = {
      operation,
      target,
      source: 'cli',
      details,
      ...(refusal === undefined ? {} : { refusal }),
    } as const;
    await recordOffline(change, listeners, writes, offline(true));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    // With --json, stderr holds one object: the error of the command itself, if it has one.
    const code = 'change_not_recorded';
    if (!json) process.stderr.write(`The change could not be recorded: ${oneLine(why)}\n`);
    else if (refusal === undefined) process.stderr.write(`${printableJson({ warning: { code, message: why } })}\n`);
  }
}
