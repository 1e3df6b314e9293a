import type { CommandEnvironment } from './environment.js';

/**
 * Prints what the server says, or without one the files: then people read so on stderr, and scripts find
 * `offline: true` and the address that did not answer in the data.
 */
export async function printAnswer(environment: CommandEnvironment, text: string, data: object): Promise<void> {
  const silent = await environment.silentServer();
  if (silent === undefined) return environment.print(text, data);
  environment.print(text, { ...data, offline: true, server: silent });
  if (environment.json) return;
  process.stderr.write(
    `No Mortise server answered at ${silent}: this is what the files say.\n` +
      '  If one runs elsewhere, name it with --api-base or MORTISE_API_BASE. It answers while its plugin admin is active.\n',
  );
}
