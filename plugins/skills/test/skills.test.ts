import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Skill } from 'mortise/contracts/skills';
import { createTestHost, eachDatabase, localPrincipal, type TestHost, until } from 'mortise/sdk/testing';

interface Answer<T> {
  readonly status: number;
  readonly body: T & { readonly error?: { readonly code: string; readonly message: string } };
}

describe('skills', () => {
  eachDatabase((engine) => {
    let host: TestHost;

    beforeEach(async () => {
      host = await createTestHost({ plugins: ['skills'], database: engine.env });
    });

    afterEach(() => host.stop());

    const send = async <T = unknown>(method: string, path: string, body?: unknown): Promise<Answer<T>> => {
      const response = await host.fetch(path, {
        method,
        headers: { 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: (await response.json()) as Answer<T>['body'] };
    };

    const guide = {
      name: 'guide',
      content: '# Guides\nHow to guide.',
      references: { 'guide.md': 'G', deep: { 'a.md': 'A' } },
    };

    it('are created, listed by name, replaced and deleted', async () => {
      expect(await send('POST', '/skills', guide)).to.deep.equal({ status: 200, body: { created: true } });
      await send('POST', '/skills', { name: 'another', content: 'x' });
      const { body: all } = await send<Skill[]>('GET', '/skills');
      expect(all.map(({ name }) => name)).to.deep.equal(['another', 'guide']);
      expect(all[1]).to.deep.include({ ...guide, scripts: {}, enabled: true, source: 'customized' });
      await send('POST', '/skills', { ...guide, references: {}, content: 'new' });
      expect((await send<Skill[]>('GET', '/skills')).body[1]).to.deep.include({ content: 'new', references: {} });
      expect((await send('DELETE', '/skills/guide')).body).to.deep.equal({ deleted: true });
      expect((await send('DELETE', '/skills/guide')).body).to.deep.equal({ deleted: false });
      expect((await send<Skill[]>('GET', '/skills')).body).to.have.length(1);
    });

    it('have files that are read by their path, with encoded slashes or plain ones', async () => {
      await send('POST', '/skills', guide);
      for (const path of ['references%2Fguide.md', 'references/guide.md']) {
        expect((await send('GET', `/skills/guide/files/customized/${path}`)).body).to.deep.equal({ content: 'G' });
      }
      expect((await send('GET', '/skills/guide/files/any/references/deep/a.md')).body).to.deep.equal({ content: 'A' });
      expect((await send('GET', '/skills/guide/files/any/SKILL.md')).body).to.deep.equal({ content: guide.content });
      const missing = await send('GET', '/skills/guide/files/any/references/..%2f..%2fSKILL.md');
      expect([missing.status, missing.body.error?.message]).to.deep.equal([404, 'skill file not found']);
      expect((await send('GET', '/skills/none/files/any/SKILL.md')).body.error?.message).to.equal('skill not found');
    });

    it('are on disk as their rows say, after an edit by hand too', async () => {
      await send('POST', '/skills', { ...guide, scripts: { 'run.sh': '#!/bin/sh\necho hi' } });
      const { path } = (await send<Skill[]>('GET', '/skills')).body[0] as Skill;
      expect(await readFile(join(path, 'references', 'deep', 'a.md'), 'utf8')).to.equal('A');
      expect((await stat(join(path, 'scripts', 'run.sh'))).mode & 0o111).to.not.equal(0);
      await rm(join(path, 'references'), { recursive: true });
      await writeFile(join(path, 'SKILL.md'), 'edited');
      await send('POST', '/skills/guide/enable');
      expect(await readFile(join(path, 'SKILL.md'), 'utf8')).to.equal(guide.content);
      expect(await readFile(join(path, 'references', 'guide.md'), 'utf8')).to.equal('G');
      await send('DELETE', '/skills/guide');
      await until('the folder to go', () =>
        stat(path).then(
          () => false,
          () => true,
        ),
      );
    });

    it('reach the prompt while they are enabled', async () => {
      await send('POST', '/skills', guide);
      const layers = () =>
        host.points.call('prompt-source', 'skills', (source, ctx) => source.build({ promptMode: 'default' }, ctx), {
          principal: localPrincipal,
        });
      const [layer] = await layers();
      expect(layer).to.include({ name: 'skills_system', source: 'runtime://skills' });
      expect(layer?.content)
        .to.match(/^## runtime:\/\/skills\n/)
        .and.to.contain('How to guide.')
        .and.to.contain('references/deep/a.md');
      await send('POST', '/skills/batch-disable', ['guide', 'unknown']);
      expect(await layers()).to.deep.equal([]);
      expect((await send<Skill[]>('GET', '/skills/available')).body).to.deep.equal([]);
      await send('POST', '/skills/batch-enable', ['guide']);
      expect(await layers()).to.have.length(1);
    });

    it('are refused with the reason when they cannot be stored', async () => {
      const refused = async (body: unknown) => {
        const { status, body: answer } = await send('POST', '/skills', body);
        return [status, answer.error?.code];
      };
      for (const name of ['', '.hidden', '../up', 'a/b', 'a\\b', 'x'.repeat(65), 'tail ', 7]) {
        expect(await refused({ name, content: 'x' }), String(name)).to.deep.equal([400, 'invalid_skill']);
      }
      expect(await refused({ name: 'a', content: '  ' })).to.deep.equal([400, 'invalid_skill']);
      for (const file of ['..', '.', '', 'a/b', 'a\\b', 'a\u0000b']) {
        expect(await refused({ name: 'a', content: 'x', references: { [file]: 'x' } }), file).to.deep.equal([
          400,
          'invalid_skill',
        ]);
      }
      expect(await refused({ name: 'a', content: 'x', scripts: { a: 7 } })).to.deep.equal([400, 'invalid_skill']);
      expect(await refused([])).to.deep.equal([400, 'invalid_json']);
      expect((await send('POST', '/skills/none/enable')).body.error).to.include({
        code: 'not_found',
        message: 'skill not found',
      });
      expect((await send<Skill[]>('GET', '/skills')).body).to.deep.equal([]);
    });

    it('leave an audit row with each change', async () => {
      await send('POST', '/skills', guide);
      await send('POST', '/skills/guide/disable');
      await send('DELETE', '/skills/guide');
      const { rows } = await host.service('audit').query({ reasonPrefix: 'skills:' });
      expect(rows.map(({ operation, targetSpace }) => [operation, targetSpace])).to.deep.equal([
        ['skills:delete', 'guide'],
        ['skills:disable', 'guide'],
        ['skills:save', 'guide'],
      ]);
    });
  });

  it('are written to disk at the start, and folders without a skill are removed', async () => {
    const first = await createTestHost({ plugins: ['skills'] });
    const root = join(first.dataDir, 'data', 'skills');
    await first.post('/skills', { name: 'kept', content: 'text' });
    await first.app.stop(Date.now() + 2_000);
    await rm(join(root, 'kept'), { recursive: true });
    await mkdir(join(root, 'stray'));
    const second = await createTestHost({ plugins: ['skills'], dataDir: first.dataDir });
    expect(await readFile(join(root, 'kept', 'SKILL.md'), 'utf8')).to.equal('text');
    expect(await stat(join(root, 'stray')).catch(() => undefined)).to.equal(undefined);
    await second.stop();
    await rm(first.dataDir, { recursive: true, force: true });
  });

  it('cannot be changed with a key that is bound to a user', async () => {
    const keys = JSON.stringify([{ key: 'key-of-anna-0123', id: 'anna', actor: 'anna' }]);
    const host = await createTestHost({ plugins: ['skills'], env: { MORTISE_API_KEYS: keys } });
    const headers = { 'x-api-key': 'key-of-anna-0123' };
    expect((await host.post('/skills', { name: 'a', content: 'x' }, headers)).status).to.equal(403);
    expect((await host.fetch('/skills', { headers })).status).to.equal(200);
    await host.stop();
  });
});
