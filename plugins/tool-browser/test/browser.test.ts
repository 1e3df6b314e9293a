import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { errorOf } from 'mortise/contracts/agent/testing';
import { sessionMembers } from 'mortise/contracts/tool-shell';
import { createTestHost, type TestHost, until } from 'mortise/sdk/testing';

/** Reports its task and its environment, or does what the task says. */
const scripted = `
const [, , task] = process.argv;
if (task === 'hang') { console.log(process.pid); setInterval(() => {}, 1000); }
else if (task === 'fail') { console.error('no page'); process.exit(3); }
else if (task === 'flood') process.stdout.write('x'.repeat(100000));
else {
  console.log('task=' + task);
  console.log('secret=' + String(process.env.BROWSER_TEST_API_KEY));
  console.log('run_id: r-1\\nlog: /tmp/log.txt\\nshots:   /tmp/shots');
}
`;

describe('the browser tool', () => {
  let host: TestHost;
  let folder: string;

  before(async () => {
    process.env.BROWSER_TEST_API_KEY = 'leaked';
    folder = await mkdtemp(join(tmpdir(), 'mortise-browser-'));
    await writeFile(join(folder, 'agent.js'), scripted);
    host = await open({ MORTISE_ENABLE_BROWSER_TOOL: 'true', MORTISE_BROWSER_AGENT_DIR: folder });
  });
  after(async () => {
    delete process.env.BROWSER_TEST_API_KEY;
    await host.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const open = (env: Record<string, string>) =>
    createTestHost({ plugins: ['agent', 'provider-demo', 'channel-console', 'logbook', 'tool-browser'], env });
  const call = (on: TestHost, name: string, input: object) =>
    on.post('/agent/process', { session_id: 's', user_id: 'u', biz_params: { tool: { name, input } } });
  const reply = async (name: string, input: object) =>
    ((await (await call(host, name, input)).json()) as { reply: string }).reply;

  it('passes the task on as one argument, without secrets around it', async () => {
    const text = await reply('browser', { items: [{ task: 'look at "$(id)" & `x`' }] });
    expect(text).to.contain('task=look at "$(id)" & `x`').and.contain('secret=undefined').and.contain('run_id: r-1');
  });

  it('bounds output and time, and reports how the agent ended', async () => {
    expect(await reply('browser', { items: [{ task: 'fail' }] })).to.equal(
      '(browser agent exited with code 3)\nno page',
    );
    const flood = await reply('browser', { items: [{ task: 'flood' }] });
    expect(flood.endsWith('... (output truncated)')).to.equal(true);
    expect(flood.length).to.be.below(33_000);
    const hung = await reply('browser', { items: [{ task: 'hang', timeout_seconds: 5 }] });
    const [head, pid] = hung.split('\n');
    expect(head).to.equal('(browser agent exited with code 124)');
    await until('its end', () => sessionMembers(Number(pid)).length === 0);
  });

  it('is what open, click and screenshot go through, and refuses private addresses', async () => {
    for (const url of ['http://127.0.0.1:1/', 'http://169.254.169.254/latest', 'http://[::1]/', 'http://localhost/']) {
      for (const name of ['open', 'click', 'screenshot']) {
        expect(await errorOf(await call(host, name, { url })), url).to.include({
          status: 400,
          code: 'tool_permission_denied',
        });
      }
    }
    expect(await reply('click', { task: 'press the button' })).to.match(
      /^mode=approx action=click routed_to=browser\ntask=press the button/,
    );
    const audited = async () => {
      const { rows } = await host.app.database
        .forPlugin('probe', ['governance'])
        .statement("select reason from {governance.write_audit} where reason = 'forbidden:open'");
      return rows.length > 0;
    };
    await until('the audit row', audited, 10_000);
  });

  it('does not exist without its agent, and a warning says so', async () => {
    const other = await open({ MORTISE_ENABLE_BROWSER_TOOL: 'true', MORTISE_BROWSER_AGENT_DIR: join(folder, 'none') });
    try {
      expect(await errorOf(await call(other, 'browser', { items: [{ task: 'x' }] }))).to.include({
        code: 'tool_not_supported',
      });
      expect(other.logs.some((line) => line.includes('browser_agent_missing'))).to.equal(true);
    } finally {
      await other.stop();
    }
  });

  describe('with a real browser', () => {
    let site: Server;
    let real: TestHost;

    /** Opens the address in its task in Chromium. */
    const agent = `
import { writeFileSync } from 'node:fs';
import chromium from ${JSON.stringify(import.meta.resolve('@sparticuz/chromium'))};
import { chromium as playwright } from ${JSON.stringify(import.meta.resolve('playwright-core'))};
const url = /https?:\\S+/.exec(process.argv[2])[0].replace(/\\.$/, '');
const browser = await playwright.launch({ executablePath: await chromium.executablePath(), args: chromium.args, headless: true });
const page = await browser.newPage();
await page.goto(url);
console.log('heading: ' + (await page.textContent('h1')));
writeFileSync('shot.png', await page.screenshot());
console.log('shots: ' + process.cwd() + '/shot.png');
await browser.close();
`;

    before(async () => {
      site = createServer((_, response) => {
        response.setHeader('content-type', 'text/html');
        response.end('<h1></h1><script>document.querySelector("h1").textContent = "The harbour " + (1 + 1)</script>');
      });
      await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
      const dir = await mkdtemp(join(folder, 'real-'));
      await writeFile(join(dir, 'package.json'), '{"type":"module"}');
      await writeFile(join(dir, 'agent.js'), agent);
      real = await open({
        MORTISE_ENABLE_BROWSER_TOOL: 'true',
        MORTISE_BROWSER_AGENT_DIR: dir,
        MORTISE_TOOL_ALLOW_PRIVATE_URLS: 'true',
      });
    });
    after(async () => {
      await real.stop();
      await new Promise((resolve) => site.close(resolve));
    });

    it('reads what a script of the page has written', async () => {
      const url = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`;
      const response = await call(real, 'open', { url });
      const { reply: text } = (await response.json()) as { reply: string };
      expect(text).to.contain('heading: The harbour 2').and.contain('shot.png');
    }).timeout(90_000);
  });
});
