import type { PluginControl, PluginRow } from 'mortise/sdk';
import { RpcFailure, shown } from '../wire/failure.js';

/** Why a listed tool cannot run: its plugin, or one that it needs, waits for the database, or is simply not there. */
export function notRunning(plugins: PluginControl, tool: string, plugin: string): RpcFailure {
  const rows = new Map(plugins.list().map((row) => [row.key, row]));
  if (waitsForDatabase(rows, plugin, new Set())) {
    return new RpcFailure('LOGBOOK_DB_CHECK_FAILED', `Tool "${shown(tool)}" waits for the database.`, {
      details: { service: 'database', tool: shown(tool) },
    });
  }
  return new RpcFailure(
    'TOOL_EXECUTOR_NOT_REGISTERED',
    `Tool "${shown(tool)}" is listed, but its plugin is not running.`,
    {
      details: { tool: shown(tool), plugin },
    },
  );
}

function waitsForDatabase(rows: ReadonlyMap<string, PluginRow>, key: string, seen: Set<string>): boolean {
  const row = rows.get(key);
  if (!row || row.state === 'active' || seen.has(key)) return false;
  seen.add(key);
  if (row.code !== null && /database|migration|schema_newer/i.test(row.code)) return true;
  return row.requires.some((needed) => waitsForDatabase(rows, needed, seen));
}
