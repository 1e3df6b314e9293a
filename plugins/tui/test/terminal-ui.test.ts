import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { streamsFrom } from 'mortise/contracts/models/testing';
import { type FakeOpenAi, openAi, startFakeOpenAi } from 'mortise/contracts/provider-openai/testing';
import { createTestHost, type TestHost, temporaryFolder } from 'mortise/sdk/testing';
import { keys, openTerminal, type Terminal, type TerminalOptions } from './terminal.js';

const plugins = [
  'admin',
  'agent',
  'channel-console',
  'prompts',
  'provider-demo',
  'provider-openai',
  'tool-plan',
  'tool-shell',
  'tui',
  'workspace',
];

describe('the terminal UI', () => {
  let host: TestHost;
  const opened: Terminal[] = [];
  const open = (options: TerminalOptions = {}, ...args: readonly string[]): Terminal => {
    const terminal = openTerminal(['tui', '--api-base', host.origin, ...args], options);
    opened.push(terminal);
    return terminal;
  };
  afterEach(() => {
    for (const terminal of opened.splice(0)) terminal.kill('SIGKILL');
  });

  describe('with the demo provider', () => {
    before(async () => {
      const folder = temporaryFolder('tui');
      await mkdir(join(folder, 'prompt'), { recursive: true });
      await writeFile(join(folder, 'prompt', 'review.md'), 'Review $FILE for $REASON.');
      host = await createTestHost({
        plugins,
        env: { MORTISE_ENABLE_PROMPT_TEMPLATES: 'true', MORTISE_WORKSPACE_DIR: folder },
      });
    });
    after(() => host.stop());

    it('starts a new chat, shows the reply, and lists the chat', async () => {
      const terminal = open();
      await terminal.shows('Ask anything.');
      terminal.type('你好，世界\r');
      await terminal.shows('● Echo: 你好，世界');
      const screen = await terminal.shows(/^ ❯ 你好，世界 +│/m);
      expect(screen).to.match(/^ ◆ Mortise {2}你好，世界 .*demo\/demo-chat $/m);
    });

    it('keeps every line within 50 columns, and the frame straight beside Chinese text', async () => {
      const terminal = open({ columns: 50, rows: 24 }, '--locale', 'zh-CN');
      await terminal.shows('请输入消息');
      const text = '终端里的中文每个字占两列，所以换行必须按列数而不是按字符数来计算，否则边框会错位。';
      terminal.type(text);
      const typed = await terminal.shows('错位');
      expect(typed).to.match(/│ ❯ 终端里.*│\n│ {3}.*错位。 *│\n╰─{48}╯/);
      terminal.type('\r');
      const screen = await terminal.shows(/● Echo: [\s\S]*错位。/);
      // A closing mark never begins a line.
      expect(screen).not.to.match(/^ *[，。]/m);
      expect(screen).not.to.include(' Chats ');
    });

    it('redraws when the terminal is resized', async () => {
      const terminal = open();
      await terminal.shows('Ask anything.');
      terminal.type('resize me\r');
      await terminal.shows('● Echo: resize me');
      terminal.resize(60, 18);
      await terminal.hides('│ ● Echo');
      const narrow = await terminal.shows(/^╭─{58}╮$/m);
      expect(narrow.match(/Mortise/g)).to.have.length(1);
      expect(narrow).to.include(' ● Echo: resize me');
      terminal.resize(20, 6);
      await terminal.shows('The terminal is too');
      terminal.resize(130, 30);
      const wide = await terminal.shows(/^╭─{128}╮$/m);
      expect(wide.match(/Mortise/g)).to.have.length(1);
    });

    it('edits the input, and puts the cursor where an input method needs it', async () => {
      const terminal = open();
      await terminal.shows('Ask anything.');
      terminal.type('一二三');
      await terminal.shows('一二三');
      await terminal.settles(() => terminal.cursor.x === 10);
      terminal.type(`${keys.left}${keys.backspace}x`);
      await terminal.shows('一x三');
      terminal.type(keys.ctrl('u'));
      terminal.type(keys.pasted('two\nlines'));
      await terminal.shows(/❯ two *│\n│ {3}lines三/);
    });

    it('opens earlier chats with their messages, in another terminal too', async () => {
      const first = open({}, '--user-id', 'reader', '--session-id', 'a-session');
      await first.shows('Ask anything.');
      first.type('remember the heron\r');
      await first.shows('● Echo: remember the heron');
      const second = open({ columns: 80 }, '--user-id', 'reader');
      await second.shows('Ask anything.');
      second.type(keys.f3);
      await second.shows('Open a chat');
      second.type('heron');
      await second.shows('heron▏');
      second.type('\r');
      await second.shows('● Echo: remember the heron');
      second.type('\u000e');
      await second.shows('Ask anything.');
      const third = open({}, '--user-id', 'reader', '--session-id', 'a-session');
      await third.shows('● Echo: remember the heron');
    });

    it('deletes a chat when /delete is entered twice in a row', async () => {
      const terminal = open({}, '--user-id', 'tidy', '--session-id', 'to-delete');
      await terminal.shows('Ask anything.');
      terminal.type('keep this\r');
      await terminal.shows(/^ ❯ keep this/m);
      terminal.type('/delete\r');
      await terminal.shows('will be deleted permanently');
      terminal.type('/help\r');
      await terminal.shows('Commands and keys');
      terminal.type(keys.escape);
      await terminal.hides('Commands and keys');
      const chats = async () => (await (await host.fetch('/chats?user_id=tidy')).json()) as readonly object[];
      for (const expected of [1, 0]) {
        terminal.type('/delete\r');
        await terminal.shows(expected === 1 ? 'will be deleted permanently' : 'The chat is deleted.');
        expect(await chats()).to.have.length(expected);
      }
    });

    it('completes and explains commands, and reports an unknown one', async () => {
      const terminal = open();
      await terminal.shows('Ask anything.');
      terminal.type('/he');
      await terminal.shows('❯ /help');
      terminal.type('\t\r');
      await terminal.shows('Commands and keys');
      terminal.type(keys.escape);
      await terminal.hides('Commands and keys');
      terminal.type('/nonsense\r');
      await terminal.shows('There is no command /nonsense.');
    });

    it('chooses the model', async () => {
      const terminal = open();
      await terminal.shows('Ask anything.');
      terminal.type('/model\r');
      await terminal.shows('Choose a model');
      terminal.type('gpt-4o-mini');
      await terminal.shows('gpt-4o-mini▏');
      terminal.type('\r');
      await terminal.shows(/Model: openai\/gpt-4o-mini/);
      expect(await (await host.fetch('/models/active')).json()).to.deep.equal({
        active_llm: { provider_id: 'openai', model: 'gpt-4o-mini' },
      });
      terminal.type('/model\r');
      await terminal.shows('Choose a model');
      terminal.type('demo');
      await terminal.shows('demo▏');
      terminal.type('\r');
      await terminal.shows(/Model: demo\/demo-chat/);
      terminal.type('back again\r');
      await terminal.shows('● Echo: back again');
    });

    it('sends a prompt template, and nothing when the call is invalid', async () => {
      const terminal = open();
      await terminal.shows('Ask anything.');
      terminal.type('/prompts:review FILE=a.ts\r');
      await terminal.shows('review needs REASON.');
      terminal.type(keys.ctrl('u'));
      terminal.type('/prompts:missing\r');
      await terminal.shows('There is no template missing.');
      terminal.type(keys.ctrl('u'));
      terminal.type('/prompts:review FILE=a.ts REASON="clear names"\r');
      await terminal.shows('● Echo: Review a.ts for clear names.');
      expect(terminal.screen()).not.to.include('Echo: /prompts');
    });

    it('shows a hint when no server answers, and continues once the address is set', async () => {
      const terminal = openTerminal(['tui', '--api-base', 'http://127.0.0.1:1']);
      opened.push(terminal);
      await terminal.shows(/No Mortise server answers at http:\/\/127\.0\.0\.1:1\.\s[\s\S]*press F4/);
      terminal.type(keys.f4);
      await terminal.shows('❯ API address');
      terminal.type(keys.ctrl('u'));
      terminal.type(`${host.origin}\r`);
      await terminal.shows(/│ *Default Chat|Default Chat *│/);
    });

    it('restores the terminal on quit and on a signal', async () => {
      const quit = open();
      await quit.shows('Ask anything.');
      // The cursor is hidden while a screen is drawn.
      await quit.settles(() => quit.isOnOtherScreen && quit.isCursorShown);
      quit.type('/exit\r');
      expect([await quit.ended, quit.isOnOtherScreen, quit.isCursorShown]).to.deep.equal([0, false, true]);
      const ended = open();
      await ended.shows('Ask anything.');
      ended.kill('SIGTERM');
      expect([await ended.ended, ended.isOnOtherScreen, ended.isCursorShown]).to.deep.equal([130, false, true]);
    });

    it('restores the terminal after a crash, and prints the error', async () => {
      const crash = join(temporaryFolder('tui'), 'crash.mjs');
      await writeFile(crash, 'process.on("SIGUSR2", () => setTimeout(() => { throw new Error("the UI crashed"); }));');
      const terminal = open({ env: { NODE_OPTIONS: `--import=${crash}` } });
      await terminal.shows('Ask anything.');
      terminal.kill('SIGUSR2');
      expect(await terminal.ended).to.equal(1);
      expect([terminal.isOnOtherScreen, terminal.isCursorShown]).to.deep.equal([false, true]);
      expect(terminal.screen()).to.include('the UI crashed');
    });
  });

  describe('with a model that calls tools', () => {
    let upstream: FakeOpenAi;
    before(async () => {
      upstream = await startFakeOpenAi();
      host = await createTestHost({
        plugins,
        env: {
          MORTISE_MODEL: 'openai/gpt-4o-mini',
          OPENAI_API_KEY: 'sk-test-key-0123456789abcdef',
          OPENAI_BASE_URL: upstream.baseUrl,
        },
      });
    });
    beforeEach(() => upstream.clear());
    after(async () => {
      await host.stop();
      await upstream.stop();
    });

    it('shows running calls, their results and formatted Markdown', async () => {
      upstream.answer(
        openAi.asksFor(['c1', 'shell', '{"items":[{"command":"sleep 0.4; echo heron"}]}'], ['c2', 'nonsense', '{}']),
        openAi.says('## Result\n\n- **one** of `two`\n\n| 名称 | n |\n| --- | --- |\n| 甲 | 1 |\n| long | 2 |'),
      );
      const terminal = open();
      await terminal.shows('Ask anything.');
      terminal.type('run it\r');
      await terminal.shows('◌ shell  sleep 0.4; echo heron');
      const screen = await terminal.shows('long │ 2');
      expect(screen).to.match(/✓ shell {2}sleep 0\.4; echo heron[\s\S]*└ [\s\S]*heron[\s\S]*✗ nonsense[\s\S]*└ /);
      expect(screen).to.match(/● Result\n.*\n.*• one of two\n/);
      expect(screen).to.match(/名称 │ n\n.*─────┼──\n.*甲 {3}│ 1\n.*long │ 2/);
    });

    it('shows the hidden lines of a result', async () => {
      const command = 'seq -s "\\n" 101 112 | xargs -0 printf';
      upstream.answer(
        openAi.asksFor(['c1', 'shell', JSON.stringify({ items: [{ command }] })]),
        openAi.says('Counted.'),
      );
      const terminal = open();
      await terminal.shows('Ask anything.');
      terminal.type('count\r');
      const short = await terminal.shows(/… \+\d+ · Ctrl\+O[\s\S]*Counted\./);
      expect(short).to.not.include('109');
      terminal.type(keys.ctrl('o'));
      await terminal.shows(/109\n[\s\S]*110/);
      terminal.type(keys.ctrl('o'));
      await terminal.hides('109');
    });

    it('shows a reply while it arrives, and cancels it with Esc', async () => {
      let left = false;
      upstream.answer(
        streamsFrom(async function* ({ leaving }) {
          yield openAi.chunk({ role: 'assistant', content: 'first words' });
          await leaving;
          left = true;
        }),
        openAi.says('second reply'),
      );
      const terminal = open();
      await terminal.shows('Ask anything.');
      terminal.type('slowly\r');
      await terminal.shows(/● first words[\s\S]*Working \d+ s · Esc cancels/);
      terminal.type('wait\r');
      await terminal.shows('A turn is running.');
      terminal.type(keys.escape);
      await terminal.shows('Cancelled.');
      await terminal.settles(() => left);
      expect(terminal.screen()).to.include('❯ wait');
      terminal.type('\r');
      await terminal.shows('● second reply');
    });

    it('shows the questions of the agent, and sends the answers', async () => {
      const questions = [
        {
          id: 'colour',
          header: 'Colour',
          question: 'Which colour?',
          options: [
            { label: '红色', description: 'warm' },
            { label: 'Blue', description: 'cold' },
          ],
        },
        { id: 'name', header: 'Name', question: 'Which name?' },
      ];
      upstream.answer(
        openAi.asksFor(['q1', 'request_user_input', JSON.stringify({ questions })]),
        openAi.says('Thank you.'),
      );
      const terminal = open();
      await terminal.shows('Ask anything.');
      terminal.type(keys.f2);
      await terminal.shows('Collaboration modes belong to prompt mode codex.');
      terminal.type(keys.ctrl('p'));
      await terminal.shows('codex:default');
      terminal.type(keys.f2);
      await terminal.shows('codex:plan');
      terminal.type('ask me\r');
      await terminal.shows(/\? Colour \(1\/2\)[\s\S]*❯ 1\. 红色 {2}warm/);
      terminal.type(keys.down);
      await terminal.shows('❯ 2. Blue');
      terminal.type('\r');
      await terminal.shows('? Name (2/2)');
      terminal.type('苍鹭\r');
      await terminal.shows('● Thank you.');
      const told = JSON.stringify(upstream.requests.at(-1)?.body);
      expect(told).to.include('Blue').and.to.include('苍鹭');
    });

    it('shows an error of the model with a hint', async () => {
      upstream.always(openAi.fails(400, { message: 'no such luck' }));
      const terminal = open({ columns: 50 });
      await terminal.shows('Ask anything.');
      terminal.type('hello\r');
      await terminal.shows(/✗ \[provider_request_failed\][\s\S]*Try again, or choose another model/);
    });
  });

  it('needs a valid key, and shows where to set it', async () => {
    host = await createTestHost({ plugins, env: { MORTISE_API_KEY: 'heron-key-0123456789' } });
    try {
      const terminal = open({}, '--api-key', 'wrong');
      await terminal.shows(/\[unauthorized\][\s\S]*Press F4 and set the API key/);
      terminal.type(keys.f4);
      await terminal.shows('API address');
      terminal.type(`${keys.down}${keys.ctrl('u')}heron-key-0123456789`);
      await terminal.shows('••••••••••••••••••••');
      expect(terminal.screen()).not.to.include('heron-key');
      terminal.type('\r');
      await terminal.shows('Default Chat');
    } finally {
      await host.stop();
    }
  });
});
