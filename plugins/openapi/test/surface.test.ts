import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { expect } from 'chai';
import { surfaceFile } from 'mortise/contracts/openapi';
import { type Description, operationsOf, readDescription } from 'mortise/contracts/openapi/testing';
import type { PluginManifest } from 'mortise/sdk';
import { methodsOf, partOf, pathTemplate } from '../join-parts.js';
import { surfaceText } from '../surface.js';

const checkout = join(import.meta.dirname, '..', '..', '..', '..');
/** Routes of the host. */
const hostPaths = ['/healthz', '/ready', '/version'];

const plugins = readdirSync(join(checkout, 'plugins')).flatMap((key) => {
  const manifest = read(key, 'plugin.json');
  return manifest === undefined ? [] : [{ key, manifest: JSON.parse(manifest) as PluginManifest }];
});

function read(key: string, file: string): string | undefined {
  try {
    return readFileSync(join(checkout, 'plugins', key, file), 'utf8');
  } catch {
    return undefined;
  }
}

function declared({ permissions }: PluginManifest): readonly string[] {
  const routes = permissions?.routes ?? [];
  return routes.flatMap((route) => methodsOf(route).map((method) => `${method} ${pathTemplate(route.path)}`));
}

/** The code of a plugin without its tests. */
function sourcesOf(key: string): string {
  const root = join(checkout, 'plugins', key);
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter(({ name, parentPath }) => name.endsWith('.ts') && !/[/\\](?:test|testing|web)(?:[/\\]|$)/.test(parentPath))
    .map(({ name, parentPath }) => readFileSync(join(parentPath, name), 'utf8'))
    .join('\n');
}

describe('the description of the HTTP surface', () => {
  it('matches the parts of the plugins; `npm run generate` writes it', () => {
    expect(readFileSync(join(checkout, surfaceFile), 'utf8')).to.equal(surfaceText(checkout));
  });

  it('is valid OpenAPI 3.1', async () => {
    const { valid, errors } = await new Validator().validate({ ...readDescription() });
    expect(valid, JSON.stringify(errors)).to.equal(true);
  });

  it('has an operation for every route of the host and of every plugin, and no other', () => {
    const routes = [
      ...hostPaths.map((path) => `GET ${path}`),
      ...plugins.flatMap(({ manifest }) => declared(manifest)),
    ];
    expect(operationsOf(readDescription()).toSorted()).to.deep.equal(routes.toSorted());
  });

  it('has the version of the product', () => {
    const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { version: string };
    expect(readDescription()).to.have.nested.property('info.version', version);
  });

  for (const { key, manifest } of plugins.filter((one) => declared(one.manifest).length > 0)) {
    it(`has a part of ${key} with a summary and a response for each of its routes, and no others`, () => {
      const part = partOf(read(key, 'openapi.yaml') ?? '') as unknown as Description;
      expect(operationsOf({ paths: part.paths ?? {} }).toSorted()).to.deep.equal(declared(manifest).toSorted());
      for (const [path, item] of Object.entries(part.paths))
        for (const [verb, operation] of Object.entries(item)) {
          if (verb === 'parameters') continue;
          expect(operation, `${verb} ${path}`).to.include.keys('summary', 'responses');
          expect(Object.keys(operation.responses), `${verb} ${path}`).to.not.deep.equal([]);
        }
    });

    it(`has the query parameters that the handlers of ${key} read, and no others`, () => {
      const part = partOf(read(key, 'openapi.yaml') ?? '') as unknown as Description;
      const declared = Object.values(part.paths)
        .flatMap((item) => Object.values(item))
        .flatMap(({ parameters = [] }) => parameters)
        .flatMap((one) => (one.in === 'query' ? [one.name] : []));
      const code = sourcesOf(key);
      const readByName = [...code.matchAll(/\bquery\.(?:get|getAll|has)\('(\w+)'\)/g)].map(([, name = '']) => name);
      expect(declared).to.include.members(readByName);
      const unread = declared.filter((name) => !code.includes(`'${name}'`) && !code.includes(`${name}:`));
      expect(unread).to.deep.equal([]);
    });
  }
});
