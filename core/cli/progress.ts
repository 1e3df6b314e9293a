import { setTimeout as delay } from 'node:timers/promises';
import type { CommandInput, CommandProgress, CommandResult } from '../sdk/points/command.js';

/** Runs a command until its result is final; `each` receives the results in between. */
export async function untilDone(
  run: (input: CommandInput) => Promise<CommandResult>,
  input: CommandInput,
  each: (result: CommandResult) => void,
  signal: AbortSignal,
): Promise<CommandResult> {
  let result = await run(input);
  while (result.again) {
    each(result);
    await delay(result.again.afterMs, undefined, { signal });
    result = await run({ ...input, resume: result.again.resume });
  }
  return result;
}

/** Minimum interval of progress lines without a terminal, milliseconds. */
const lineEveryMs = 2_000;
const barWidth = 24;

/** Shows progress on a stream: a redrawn bar on a terminal, otherwise periodic lines. */
export function createProgress(
  stream: Pick<NodeJS.WriteStream, 'write'> & { readonly isTTY?: boolean },
  isSilent: boolean,
): { show(progress: CommandProgress | undefined): void; end(): void } {
  let isDrawn = false;
  let last = 0;
  return {
    show: (progress) => {
      if (isSilent || progress === undefined) return;
      if (stream.isTTY) {
        stream.write(`\r\u001b[2K${bar(progress)} ${numbers(progress)}`);
        isDrawn = true;
        return;
      }
      if (Date.now() - last < lineEveryMs) return;
      last = Date.now();
      stream.write(`${progress.phase}: ${numbers(progress)}\n`);
    },
    end: () => {
      if (isDrawn) stream.write('\r\u001b[2K');
      isDrawn = false;
    },
  };
}

function bar({ phase, done, total }: CommandProgress): string {
  const filled = total > 0 ? Math.round((barWidth * Math.min(done, total)) / total) : 0;
  return `${phase} [${'#'.repeat(filled)}${'.'.repeat(barWidth - filled)}]`;
}

function numbers({ done, total, rate, etaSeconds }: CommandProgress): string {
  const count = total > 0 ? `${done}/${total}` : `${done}`;
  const speed = rate ? `, ${Math.round(rate)}/s` : '';
  const rest = etaSeconds === null || etaSeconds === undefined ? '' : `, ${Math.ceil(etaSeconds)} s left`;
  return `${count}${speed}${rest}`;
}
