import { existsSync, globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect } from 'chai';
import { checkout as root } from '../launcher/modules.js';

const read = (file: string): string => readFileSync(resolve(root, file), 'utf8');

/** The names in the lists `import { … } from` and `export { … } from` whose specifier matches. */
function namesIn(text: string, specifier: RegExp): readonly string[] {
  return [...text.matchAll(/(?:import|export) (?:type )?\{([^}]*)\} from '([^']+)'/g)]
    .filter(([, , from = '']) => specifier.test(from))
    .flatMap(([, list = '']) => list.split(','))
    .map(
      (name) =>
        name
          .trim()
          .replace(/^type /, '')
          .split(' as ')[0] ?? '',
    )
    .filter((name) => name !== '');
}

describe('the names of the SDK', () => {
  it('are each imported by a plugin or a test', () => {
    const shipped = JSON.parse(read('plugins.json')) as { readonly plugins: object };
    // A deleted plugin may have been the only user of a name.
    if (Object.keys(shipped.plugins).some((key) => !existsSync(resolve(root, 'plugins', key, 'plugin.json')))) return;
    const exported = namesIn(read('core/sdk/index.ts'), /^\.\//);
    const files = globSync(['plugins/**/*.{ts,tsx}', 'test/**/*.ts'], { cwd: root, exclude: ['**/node_modules/**'] });
    const used = new Set(files.flatMap((file) => namesIn(read(file), /^mortise\/sdk$|core\/sdk\/index\.js$/)));
    expect(exported).to.have.length.above(100);
    expect(exported.filter((name) => !used.has(name))).to.deep.equal([]);
  });
});
