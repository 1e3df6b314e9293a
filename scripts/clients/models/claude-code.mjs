// Claude Code without a terminal: one command, one answer. Its home is a temporary folder.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [origin, , name] = process.argv.slice(2);
const home = mkdtempSync(join(tmpdir(), 'claude-code-'));
try {
  const program = join(import.meta.dirname, 'node_modules', '@anthropic-ai', 'claude-code', 'cli-wrapper.cjs');
  const args = [program, '-p', 'What is 40 + 2?', '--model', name, '--allowedTools', 'Bash', '--output-format', 'json'];
  const output = execFileSync(process.execPath, args, {
    cwd: home,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env.PATH,
      HOME: home,
      CLAUDE_CONFIG_DIR: join(home, '.claude'),
      ANTHROPIC_BASE_URL: origin,
      ANTHROPIC_API_KEY: 'any',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    },
  });
  console.log(JSON.parse(output.toString()).result);
} finally {
  rmSync(home, { recursive: true, force: true });
}
