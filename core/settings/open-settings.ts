import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createSchemaCompiler, loadSchema } from '../schema/index.js';
import { MortiseError } from '../sdk/index.js';
import { ConfigFiles, hostOwner } from './config-files.js';
import { openEnvironment, shownPath } from './environment.js';
import { secretsOfHost, toHostSettings } from './host-settings.js';
import { issueSentence } from './problems.js';
import { createSecretStore } from './secrets.js';
import { createSettings } from './settings.js';
import type { OpenedSettings, SettingsSource } from './types.js';

async function ownVersion(projectDir: string): Promise<string> {
  const facts: unknown = JSON.parse(await readFile(join(projectDir, 'package.json'), 'utf8'));
  const version: unknown = typeof facts === 'object' && facts !== null ? Reflect.get(facts, 'version') : undefined;
  return typeof version === 'string' ? version : '0.0.0';
}

/**
 * Reads the env file, the environment and `config/mortise.json`. Unusable input is returned, not thrown:
 * one error per fault, each naming the variable or file and what is allowed.
 */
export async function openSettings(source: SettingsSource): Promise<OpenedSettings> {
  const projectDir = resolve(source.projectDir);
  const cwd = source.cwd ?? process.cwd();
  const now = source.now ?? Date.now;
  try {
    const environment = await openEnvironment(source.env ?? process.env, cwd);
    const configured = environment.read('MORTISE_CONFIG_DIR')?.value;
    const configDir = configured === undefined ? join(projectDir, 'config') : resolve(cwd, configured);
    const secretsFile = join(configDir, 'secrets.json');
    const secrets = createSecretStore(secretsFile, shownPath(projectDir, secretsFile), environment, now);
    await secrets.poll(true);

    const files = new ConfigFiles({ environment, secrets, configDir, projectDir, cwd, now });
    const schema = await loadSchema(projectDir, 'mortise');
    const hostFile = await files.open(hostOwner, schema, createSchemaCompiler(), join(configDir, 'mortise.json'));
    const computed = hostFile.computed;
    if (hostFile.problem !== null || computed === undefined) {
      const issues = hostFile.problem?.issues ?? [];
      files.dispose();
      return {
        ok: false,
        errors: issues.map(
          (issue) =>
            new MortiseError('invalid_settings', issueSentence(issue), {
              hint: `Correct ${issue.origin} and start again.`,
            }),
        ),
      };
    }
    const folders = { projectDir, configDir, cwd, version: await ownVersion(projectDir) };
    const host = toHostSettings(computed, folders);
    files.reveal(secretsOfHost(host));
    return { ok: true, settings: createSettings(files, host) };
  } catch (error) {
    if (error instanceof MortiseError) return { ok: false, errors: [error] };
    const message = error instanceof Error ? error.message : String(error);
    const problem = `The settings below ${shownPath(cwd, projectDir)} cannot be read: ${message}`;
    return { ok: false, errors: [new MortiseError('invalid_settings', problem, { cause: error })] };
  }
}
