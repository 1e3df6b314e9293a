import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const built = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const projectDir = resolve(built, '..', '..', '..');

const schema = {
  type: 'object',
  required: ['name', 'at'],
  additionalProperties: false,
  properties: {
    name: { type: 'string', pattern: '^\\p{L}+$', minLength: 2, 'x-env': 'NAME' },
    at: { type: 'string', format: 'date-time' },
    tags: { type: 'array', uniqueItems: true, items: { $ref: '#/$defs/tag' } },
    limit: { type: 'integer', minimum: 1, default: 10 },
  },
  $defs: { tag: { type: 'object', properties: { id: { type: 'string' } } } },
};

const values = [
  { name: 'Ada', at: '2026-01-01T00:00:00Z' },
  { name: '7', at: 'never', limit: 0, other: 1 },
  { name: 'Ada', at: '2026-01-01T00:00:00Z', tags: [{ id: 'a' }, { id: 'a' }] },
  'nothing',
];

const program = `
const { createSchemaCompiler, cacheValidators } = await import(process.argv[1]);
const { schema, values, folder } = JSON.parse(process.argv[2]);
if (folder) cacheValidators(folder);
const compiled = createSchemaCompiler().compile(schema, { name: 'a schema' });
const answers = values.map((value) => [compiled.check(value), compiled.parse(value)]);
const { createRequire } = await import('node:module');
const loaded = Object.keys(createRequire(import.meta.url).cache).some((file) => file.endsWith('/ajv/dist/core.js'));
console.log(JSON.stringify({ answers, loaded }));
`;

interface Report {
  readonly answers: unknown;
  /** Whether the process needed the compiler. */
  readonly loaded: boolean;
}

/** Checks the values in a separate process. */
function ask(folder: string | undefined, of: object = schema): Report {
  const input = JSON.stringify({ schema: of, values, folder });
  const args = ['--input-type=module', '--eval', program, join(built, 'index.js'), input];
  return JSON.parse(execFileSync(process.execPath, args, { cwd: projectDir, encoding: 'utf8' })) as Report;
}

describe('cached validators', () => {
  let home: string;
  let folder: string;

  beforeEach(async () => {
    home = await mkdtemp(join(projectDir, 'dist', 'cached-validators-'));
    folder = join(home, 'validators');
  });
  afterEach(() => rm(home, { recursive: true, force: true }));

  it('are used by the next process instead of the compiler, with the same results', () => {
    const fresh = ask(undefined);
    const first = ask(folder);
    const second = ask(folder);
    expect(first).to.deep.equal(fresh);
    expect(second.answers).to.deep.equal(fresh.answers);
    expect([first.loaded, second.loaded]).to.deep.equal([true, false]);
  });

  it('are identified by their complete schema', () => {
    const strict = ask(folder);
    const lax = ask(folder, { ...schema, required: [], additionalProperties: true });
    expect(lax.answers).not.to.deep.equal(strict.answers);
    expect(ask(folder).answers).to.deep.equal(strict.answers);
  });

  it('are compiled again when a file is truncated', async () => {
    const { answers } = ask(folder);
    const files = await readdir(folder);
    for (const file of files) {
      const text = await readFile(join(folder, file), 'utf8');
      await writeFile(join(folder, file), text.slice(0, text.length / 2));
    }
    expect(ask(folder)).to.deep.equal({ answers, loaded: true });
    expect(ask(folder)).to.deep.equal({ answers, loaded: false });
    expect(await readdir(folder)).to.have.members(files);
  });

  it('are not used if the folder is not writable', async () => {
    await symlink('/dev/null', folder);
    expect(ask(folder).loaded).to.equal(true);
  });
});
