import { userInfo } from 'node:os';
import { isCodedError } from '../sdk/errors.js';
import type { PluginRow } from '../sdk/host/plugin-control.js';
import type { CommandEnvironment } from './environment.js';

/**
 * Enables or disables, in the running server or in the desired state that the next one follows. A change without a
 * server, or its refusal, is recorded here; failing to record it does not undo it.
 */
export async function switchPlugin(
  environment: CommandEnvironment,
  key: string,
  enabled: boolean,
  cascade = false,
): Promise<PluginRow> {
  const operation = enabled ? 'enable' : 'disable';
  /** Plugins that record the change: those of before it and those of after it. */
  const listeners = new Set<string>();
  try {
    const row = await environment.either<PluginRow>(
      (server) => server.request('POST', `/admin/plugins/${encodeURIComponent(key)}/${operation}`, { cascade }),
      async (engine) => {
        for (const one of engine.listenersOf('platform-changed')) listeners.add(one);
        const changed = await engine.want(key, enabled, cascade);
        for (const one of engine.listenersOf('platform-changed')) listeners.add(one);
        return changed;
      },
    );
    await record(environment, [...listeners], operation, key);
    return row;
  } catch (error) {
    await record(environment, [...listeners], operation, key, isCodedError(error) ? error.code : 'internal_error');
    throw error;
  }
}

async function record(
  { projectDir, signal, json }: CommandEnvironment,
  listeners: readonly string[],
  operation: 'enable' | 'disable',
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
    await recordOffline(change, listeners, { projectDir, signal, quiet: true });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    // With --json, stderr holds one object: the error of the command itself.
    if (!json) process.stderr.write(`The change could not be recorded: ${why}\n`);
  }
}
