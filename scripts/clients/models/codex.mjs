// Codex without a terminal: one command, one answer. Its home is a temporary folder.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [origin, , name] = process.argv.slice(2);
const home = mkdtempSync(join(tmpdir(), 'codex-'));
try {
  const program = join(import.meta.dirname, 'node_modules', '@openai', 'codex', 'bin', 'codex.js');
  const answer = join(home, 'answer.txt');
  const provider = `{name="Mortise",base_url="${origin}/v1",env_key="OPENAI_API_KEY",wire_api="responses"}`;
  const args = ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', '-C', home, '-m', name];
  const config = ['-c', 'model_provider=mortise', '-c', `model_providers.mortise=${provider}`];
  execFileSync(process.execPath, [program, ...args, ...config, '-o', answer, 'What is 40 + 2?'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env.PATH, HOME: home, CODEX_HOME: home, OPENAI_API_KEY: 'any' },
  });
  console.log(readFileSync(answer, 'utf8'));
} finally {
  rmSync(home, { recursive: true, force: true });
}
