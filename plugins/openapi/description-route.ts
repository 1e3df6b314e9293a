import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger, PluginControl, PluginManifest, Route } from 'mortise/sdk';
import { joinParts, type PluginPart, partOf } from './join-parts.js';

interface DescriptionDeps {
  readonly plugins: Pick<PluginControl, 'list' | 'inspect' | 'shippedText'>;
  /** The version of the product. */
  readonly version: string;
  /** Where `base.yaml` is. */
  readonly folder: string;
  readonly log: Logger;
  onToggle(run: () => void): void;
}

/** Returns the description of the active plugins, which is joined again after a plugin has changed its state. */
export function descriptionRoute(deps: DescriptionDeps): Route {
  let cached: Promise<object> | undefined;
  const invalidate = () => {
    cached = undefined;
  };
  deps.onToggle(invalidate);
  return {
    async handle() {
      cached ??= describe(deps);
      const description = cached;
      description.catch(invalidate);
      return { body: await description };
    },
  };
}

async function describe({ plugins, version, folder, log }: DescriptionDeps): Promise<object> {
  const base = partOf(await readFile(join(folder, 'base.yaml'), 'utf8'));
  const active = plugins.list().filter(({ state }) => state === 'active');
  const parts = await Promise.all(
    active.map(async ({ key }): Promise<PluginPart | undefined> => {
      const { manifest } = await plugins.inspect(key);
      if (!manifest?.permissions?.routes) return undefined;
      return { manifest, part: await readPart(manifest) };
    }),
  );
  return joinParts(
    base,
    parts.filter((part) => part !== undefined),
    version,
  );

  /** A part that cannot be read leaves its plugin's routes without details. */
  async function readPart({ key }: PluginManifest) {
    try {
      return partOf((await plugins.shippedText(key, 'openapi.yaml')) ?? '');
    } catch (error) {
      log.warn({ err: error, described: key }, 'The description of a plugin cannot be read');
      return {};
    }
  }
}
