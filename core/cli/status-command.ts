import type { Command } from 'commander';
import { MortiseError } from '../sdk/errors.js';
import type { CommandEnvironment } from './main.js';

export function addStatusCommand(program: Command, environment: CommandEnvironment): void {
  program
    .command('status')
    .description('whether the server runs and is ready; exit 1 when it is not ready, 3 when there is none')
    .action(async () => {
      const client = environment.client();
      if (!(await client.alive())) throw noServer();
      const { version } = (await client.request('GET', '/version')) as { version: string };
      const ready = await client
        .request('GET', '/ready')
        .then(() => ({ ready: true }))
        .catch(() => ({ ready: false }));
      environment.print(`Mortise ${version} is ${ready.ready ? 'ready' : 'running and not ready yet'}.`, {
        version,
        ...ready,
      });
      if (!ready.ready) environment.exitWith(1);
    });
}

export function noServer(): MortiseError {
  return new MortiseError('no_server', 'No Mortise server answers.', {
    hint: 'Start one with npm start, or name it with --api-base.',
  });
}
