import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { chinese } from '../translated.js';
import { type Ended, type OfflineFolder, offlineFolder, runCli } from './run-cli.js';

const nowhere = { MORTISE_API_BASE: 'http://127.0.0.1:1' };
const status = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> =>
  runCli([...args, 'status'], { ...nowhere, ...env });

const english = '[cli_error] No Mortise server answers at http://127.0.0.1:1.\n';
const translated = '[cli_error] http://127.0.0.1:1 没有 Mortise 服务器响应。\n';

describe('the language of the command line', () => {
  let folder: OfflineFolder;
  before(async () => {
    folder = await offlineFolder({ near: { enabled: true } });
    const command = { key: 'near-by', facts: { usage: 'near by', summary: 'Here.', client: 'near-by.js' } };
    await folder.addPlugin(
      'near',
      { contributes: { command: [command] } },
      'export default () => ({ key: "near", register() {} });',
    );
    await folder.addFile(
      'near',
      'near-by.js',
      'export default async (_input, { env }) => ({ exitCode: 0, data: env.MORTISE_LOCALE, text: "" });',
    );
  });
  after(() => folder.dispose());

  it('is English unless the option or the environment names another language; the option wins', async () => {
    const cases: readonly (readonly [
      args: readonly string[],
      env: Readonly<Record<string, string>>,
      expected: string,
    ])[] = [
      [[], {}, english],
      [['--locale', 'zh-CN'], {}, translated],
      [['--locale=zh-CN'], {}, translated],
      [[], { MORTISE_LOCALE: 'zh-CN' }, translated],
      [['--locale', 'en-US'], { MORTISE_LOCALE: 'zh-CN' }, english],
    ];
    for (const [args, env, expected] of cases) {
      const { code, stderr } = await status(args, env);
      expect([code, stderr.slice(0, expected.length)], args.join(' ')).to.deep.equal([3, expected]);
    }
  });

  it('is that of the settings if neither does', async () => {
    const file = join(folder.configDir, 'mortise.json');
    await writeFile(file, JSON.stringify({ locale: 'zh-CN' }));
    expect((await folder.run('status')).stderr).to.include('没有 Mortise 服务器响应');
    await writeFile(file, '{}');
  });

  it('changes messages, but no codes that scripts read', async () => {
    const { error } = await status(['--json', '--locale', 'zh-CN']);
    expect(error()).to.deep.include({ code: 'cli_error', details: { reason: 'no_server' } });
    expect(error().hint).to.include('--api-base');
  });

  it('applies to the help of every command', async () => {
    const { stdout } = await folder.run('plugin', 'list', '--help', '--locale', 'zh-CN');
    expect(stdout)
      .to.match(/^用法： mortise plugin list/)
      .and.include('\n示例：\n')
      .and.include('显示命令的帮助');
  });

  it('applies to commands that run in the client process', async () => {
    expect((await folder.run('near', 'by', '--json', '--locale', 'zh-CN')).json()).to.equal('zh-CN');
    expect((await folder.run('near', 'by', '--json')).json()).to.equal('en-US');
  });

  it('is one of two supported languages', async () => {
    const { code, stderr } = await status(['--locale', 'fr-FR']);
    expect([code, stderr.includes('en-US, zh-CN')]).to.deep.equal([2, true]);
  });

  it('keeps the placeholders of every message', () => {
    const places = (text: string): readonly string[] => (text.match(/\{\w+\}/g) ?? []).toSorted();
    for (const [sentence, own] of Object.entries(chinese))
      expect(places(own), sentence).to.deep.equal(places(sentence));
  });
});
