import type { CommandInput, CommandResult } from 'mortise/sdk';

/** Nobody can mean that. `reason` is a sentence for what the usage does not show. */
export function wrongUsage(usage: string, reason?: string): CommandResult {
  const text = `Usage: mortise ${usage}`;
  if (reason === undefined) return { exitCode: 2, data: { error: 'usage', usage }, text };
  return { exitCode: 2, data: { error: 'usage', reason, usage }, text: `${reason}\n${text}` };
}

/** An option that was given as text; null when it is there without one. */
export function textOption({ options }: CommandInput, name: string): string | undefined | null {
  const value = options[name];
  if (value === undefined) return undefined;
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Columns of equal width. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
