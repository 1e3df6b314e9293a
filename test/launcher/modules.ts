import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout of these tests. */
export const checkout = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));

/** URL of a launcher module, which is plain JavaScript outside the build. */
export const launcherModule = (name: string): string => new URL(`../../../scripts/lib/${name}`, import.meta.url).href;

export interface Progress {
  say(line: string): void;
  step<T>(doing: string, work: () => Promise<T>): Promise<T>;
}

interface ServerEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

export type Npm = (args: string[], options: { what: string; node: string }) => Promise<void>;

type SourceEntry = readonly [size: number, modified: number, changed: number, hash: string];

interface Launcher {
  readonly 'runtime.mjs': {
    readonly floor: string;
    isSupported(version: string): boolean;
    runtimePackage(platform: string, arch: string): { name: string; program: string };
    findRuntime(root: string, version?: string): string | undefined;
    installRuntime(root: string, npm: Npm): Promise<string>;
  };
  readonly 'dependencies.mjs': {
    dependenciesCurrent(root: string): boolean;
    installDependencies(
      root: string,
      npm: Npm,
      options: { node: string; step: (work: () => Promise<void>) => Promise<void> },
    ): Promise<void>;
  };
  readonly 'npm.mjs': {
    cacheOptions(root: string, environment: NodeJS.ProcessEnv, home: string): readonly string[];
    explain(
      result: { code: number | null; signal: string | null; output: string },
      context: { what: string; log: string; root: string },
    ): Error & { code?: string };
  };
  readonly 'sources.mjs': {
    compareSources(
      root: string,
      paths: readonly string[],
      remembered: Readonly<Record<string, SourceEntry>>,
      now?: number,
    ): { changed: boolean; touched: boolean; entries: Record<string, SourceEntry> };
  };
  readonly 'prepare.mjs': {
    prepare(
      root: string,
      options?: { build?: boolean; progress?: Progress },
    ): Promise<{ node: string; errors: string[] }>;
  };
  readonly 'restart.mjs': {
    isWorthRestart(end: ServerEnd): boolean;
    createRestartAllowance(now: () => number): { take(end: ServerEnd): boolean };
  };
  readonly 'signal-relay.mjs': {
    createSignalRelay(forward: (signal: string) => void, now: () => number): (signal: string) => void;
  };
}

/** Loads a module of the launcher with the types the tests rely on. */
export async function load<Name extends keyof Launcher>(name: Name): Promise<Launcher[Name]> {
  return await import(launcherModule(name));
}
