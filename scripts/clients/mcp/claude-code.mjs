// Claude Code without a terminal, over HTTP+SSE; a scripted model makes it call the tools. Its home is a temporary folder.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [url, modelUrl] = process.argv.slice(2);
const home = mkdtempSync(join(tmpdir(), 'claude-code-'));
try {
  const program = join(import.meta.dirname, 'node_modules', '@anthropic-ai', 'claude-code', 'cli-wrapper.cjs');
  const servers = { mcpServers: { mortise: { type: 'sse', url } } };
  const args = ['-p', 'Remember the pelican.', '--model', 'claude-sonnet-4-5', '--output-format', 'json'];
  const tools = ['--mcp-config', JSON.stringify(servers), '--strict-mcp-config', '--allowedTools', 'mcp__mortise'];
  const output = execFileSync(process.execPath, [program, ...args, ...tools], {
    cwd: home,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env.PATH,
      HOME: home,
      CLAUDE_CONFIG_DIR: join(home, '.claude'),
      ANTHROPIC_BASE_URL: modelUrl,
      ANTHROPIC_API_KEY: 'any',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    },
  });
  console.log(JSON.parse(output.toString()).result);
} finally {
  rmSync(home, { recursive: true, force: true });
}
