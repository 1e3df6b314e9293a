import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { rooms as layers } from './rooms.js';

const project = new URL('../../../', import.meta.url);
const rooms = /^(?:bin|config|core|plugins|schemas|scripts|test)\//;
/** A placeholder, alternatives or a glob pattern. */
const isPattern = /[<>{}*\s]/;

describe('the architecture page', () => {
  it('names only files and folders that exist', () => {
    const page = readFileSync(new URL('ARCHITECTURE.md', project), 'utf8');
    const paths = [...page.matchAll(/`([^`\n]+)`/g)]
      .map(([, path = '']) => path)
      .filter((path) => rooms.test(path) && !isPattern.test(path));
    expect(paths.length).to.be.greaterThan(20);
    const exists = (path: string): boolean => existsSync(fileURLToPath(new URL(path, project)));
    // A plugin may have been deleted; paths of it are then ignored.
    const isDeleted = (path: string): boolean => {
      const [plugin] = /^plugins\/[^/]+/.exec(path) ?? [];
      return plugin !== undefined && !exists(`${plugin}/plugin.json`);
    };
    expect(paths.filter((path) => !exists(path) && !isDeleted(path))).to.deep.equal([]);
  });

  it('lists what each room of core may import', () => {
    const page = readFileSync(new URL('ARCHITECTURE.md', project), 'utf8');
    const rows = new Map(
      [...page.matchAll(/^\| `core\/(\w+)` \|.*\| ([^|]+) \|$/gm)].map(([, room = '', uses = '']) => [room, uses]),
    );
    const isRoom = ({ path }: { readonly path: string }): boolean => /^core\/\w+\/$/.test(path);
    for (const { name, uses } of layers.filter(isRoom)) {
      if (name === 'app') continue;
      const shown = rows.get(name) === 'nothing of the project' ? [] : rows.get(name)?.split(', ');
      expect(shown, name).to.have.members([...uses]);
    }
  });
});
