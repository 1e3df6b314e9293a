import { createSchemaCompiler, type JsonSchema } from '../schema/index.js';
import type { SettingsService } from '../sdk/index.js';
import type { ConfigFiles } from './config-files.js';
import { guardedPaths } from './guarded-paths.js';
import { type Beat, Rhythm } from './rhythm.js';
import { secretsFor } from './secrets.js';
import type { HostSettings, OwnedConfig, Settings } from './types.js';

/** What the rest of the process sees of the configuration files. */
export function createSettings(files: ConfigFiles, host: HostSettings): Settings {
  const { environment, secrets, now } = files.options;
  const rhythm = new Rhythm(now);

  /** Files of one interval are looked at together. */
  function beats(): readonly Beat[] {
    const intervals = new Set([undefined, ...[...files.watched.values()].map(({ pollMs }) => pollMs)]);
    return [...intervals].map((pollMs) => ({
      key: pollMs === undefined ? 'host' : `${pollMs}`,
      everyMs: pollMs ?? host.pollMs,
      run: () => files.poll((own) => own === pollMs),
    }));
  }

  function serviceFor(owner: string): SettingsService {
    return {
      projectKey: host.projectKey,
      dataDir: host.dataDir,
      workspaceDir: host.workspaceDir,
      version: host.version,
      guardedPaths: guardedPaths(host, environment.file, secrets.file),
      effective: (of) => files.effective(of),
      configStatus: () => files.watched.get(owner)?.file.status(),
      async reload() {
        const file = files.watched.get(owner)?.file;
        if (file === undefined) return { changed: false, revision: 0, error: null };
        const { changed, revision, problem } = await file.reload();
        return { changed, revision, error: problem?.message ?? null };
      },
    };
  }

  return {
    host,
    warnings: files.watched.get('host')?.file.warnings ?? [],
    async own<C extends object>(owner: string, schema: JsonSchema): Promise<OwnedConfig<C>> {
      const file = await files.open(owner, schema, createSchemaCompiler());
      return file.as<C>(() => files.forget(file));
    },
    effective: (owner) => files.effective(owner),
    variable: (name) => environment.read(name)?.value,
    serviceFor,
    secretsFor: (names) => secretsFor(secrets, names, (value) => files.reveal([value])),
    onAlert: (run) => files.onAlert(run),
    raise: (alert) => files.raise(alert),
    findings: () => files.findings(),
    secrets: () => files.secrets(),
    onSecret: (run) => files.onSecret(run),
    onWrite: (run) => files.onWrite(run),
    wrote: (path) => files.wrote(path),
    also(watched) {
      files.others.add(watched);
      return { dispose: () => void files.others.delete(watched) };
    },
    watch: () => rhythm.start(beats),
    poll: () => files.poll(() => true),
    async dispose() {
      await rhythm.stop();
      files.dispose();
    },
  };
}
