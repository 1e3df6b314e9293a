import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { BootJournal, markSuspect } from '../boot-journal.js';

describe('the boot journal', () => {
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mortise-journal-'));
    file = join(folder, 'boot.json');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const afterCrash = () => BootJournal.open(file, { crashed: true });

  it('names the plugin whose code ran when the process crashed, and the step', () => {
    const journal = BootJournal.open(file);
    journal.note('good', 'import')();
    journal.note('bad', 'register');
    expect(afterCrash().suspect('bad')).to.deep.equal({ code: 'boot_crash', detail: 'register', sure: true });
    expect(afterCrash().suspect('good')).to.equal(undefined);
  });

  it('ignores notes after it was closed', () => {
    const journal = BootJournal.open(file);
    journal.note('bad', 'start');
    journal.close();
    journal.note('late', 'start');
    journal.steady();
    expect(afterCrash().suspect('bad')?.detail).to.equal('start');
    expect(afterCrash().suspect('late')).to.equal(undefined);
  });

  it('names no plugin after a crash in which no plugin ran', () => {
    BootJournal.open(file).note('good', 'import')();
    expect(afterCrash().suspect('good')).to.equal(undefined);
  });

  it('names the plugin that was starting', () => {
    const journal = BootJournal.open(file);
    journal.note('done', 'waiting')();
    journal.note('bad', 'waiting');
    const next = afterCrash();
    expect(next.suspect('bad')).to.deep.equal({ code: 'boot_crash', detail: 'start', sure: true });
    expect(next.suspect('done')).to.equal(undefined);
  });

  it('is not sure when several plugins were starting', () => {
    const journal = BootJournal.open(file);
    journal.note('one', 'waiting');
    journal.note('two', 'waiting');
    const next = afterCrash();
    expect([next.suspect('one')?.sure, next.suspect('two')?.sure]).to.deep.equal([false, false]);
  });

  it('prefers running code to a waiting start', () => {
    const journal = BootJournal.open(file);
    journal.note('waits', 'waiting');
    journal.note('runs', 'start');
    const next = afterCrash();
    expect([next.suspect('waits'), next.suspect('runs')?.sure]).to.deep.equal([undefined, true]);
  });

  it('names a plugin that crashed the process in a change after the boot', () => {
    const journal = BootJournal.open(file);
    journal.complete();
    journal.note('bad', 'start');
    expect(afterCrash().suspect('bad')?.code).to.equal('boot_crash');
  });

  it('suspects no plugin at first when the process may have been killed from outside', () => {
    for (let end = 1; end <= 3; end += 1) {
      const journal = BootJournal.open(file);
      expect(journal.suspect('it'), `after ${end - 1} ends`).to.equal(undefined);
      journal.note('it', 'import');
    }
    expect(BootJournal.open(file).suspect('it')?.code).to.equal('boot_crash');
  });

  it('resets its counts after a completed boot', () => {
    for (let end = 1; end <= 6; end += 1) {
      const journal = BootJournal.open(file);
      if (end % 2 === 0) journal.complete();
      journal.note('it', 'import');
      expect(journal.suspect('it')).to.equal(undefined);
    }
  });

  it('remembers a suspect until it is cleared', () => {
    BootJournal.open(file).note('bad', 'start');
    afterCrash().complete();
    const later = BootJournal.open(file);
    expect(later.suspect('bad')).to.not.equal(undefined);
    later.clearSuspect('bad');
    later.complete();
    expect(BootJournal.open(file).suspect('bad')).to.equal(undefined);
  });

  it('reports a crash loop after two known crashes in a row, even after a complete boot', () => {
    BootJournal.open(file).complete();
    const first = afterCrash();
    expect(first.crashLoop).to.equal(false);
    first.complete();
    expect(afterCrash().crashLoop).to.equal(true);
  });

  it('never reports a crash loop when the process may have been killed from outside', () => {
    for (let end = 1; end <= 20; end += 1) {
      const journal = BootJournal.open(file);
      expect(journal.crashLoop).to.equal(false);
      if (end % 2 === 0) journal.complete();
    }
  });

  it('resets the count once a process has stayed up', () => {
    BootJournal.open(file);
    const second = afterCrash();
    second.complete();
    second.steady();
    expect([afterCrash().crashLoop, afterCrash().crashLoop, afterCrash().crashLoop]).to.deep.equal([
      false,
      false,
      true,
    ]);
  });

  it('resets the count when other plugins are enabled, or one is released', () => {
    const crash = (wanted: string) => BootJournal.open(file, { crashed: true, wanted });
    BootJournal.open(file, { wanted: 'a b' });
    expect([crash('a b').crashLoop, crash('a b').crashLoop, crash('a').crashLoop]).to.deep.equal([false, true, false]);
    crash('a');
    const loop = crash('a');
    expect(loop.crashLoop).to.equal(true);
    loop.clearSuspect('a');
    expect(BootJournal.open(file, { wanted: 'a' }).crashLoop).to.equal(false);
  });

  it('does not count a crash that a new suspect explains', () => {
    for (const plugin of ['one', 'two', 'three']) {
      const journal = afterCrash();
      expect(journal.crashLoop).to.equal(false);
      journal.note(plugin, 'start');
    }
    const last = afterCrash();
    expect(['one', 'two', 'three'].every((plugin) => last.suspect(plugin))).to.equal(true);
    expect(last.crashLoop).to.equal(false);
  });

  it('keeps what the watchdog wrote, without counting a crash', () => {
    const journal = BootJournal.open(file);
    journal.note('loops', 'start');
    const suspect = { code: 'blocked_event_loop', detail: '3', sure: true } as const;
    markSuspect(file, 'loops', suspect);
    const next = afterCrash();
    expect(next.suspect('loops')).to.deep.equal(suspect);
    expect(next.crashLoop).to.equal(false);
  });

  it('starts empty from a truncated or foreign file, and leaves no other file behind', () => {
    for (const text of ['', '{"suspects":', '[]', 'null', '{"current":7,"waiting":{},"suspects":[],"named":"x"}']) {
      writeFileSync(file, text);
      const journal = afterCrash();
      expect([journal.suspect('it'), journal.crashLoop], text).to.deep.equal([undefined, false]);
    }
    expect(readdirSync(folder)).to.deep.equal(['boot.json']);
    expect(JSON.parse(readFileSync(file, 'utf8'))).to.be.an('object');
  });

  it('does not prevent the start of the platform when it cannot be written', () => {
    const journal = BootJournal.open(file);
    rmSync(folder, { recursive: true });
    expect(() => journal.note('it', 'start')()).not.to.throw();
  });
});
