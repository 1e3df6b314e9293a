import { spawn } from 'node:child_process';

/**
 * Runs a child to its end without blocking this process, so that signals and the lock's heartbeat are still handled.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd: string, env: NodeJS.ProcessEnv, stdio?: 'inherit' | 'pipe', shell?: boolean,
 *   interrupts: ReturnType<typeof import('./interrupts.mjs').watchInterrupts>,
 *   onStart?: (pid: number | undefined) => void }} options
 * @returns {Promise<{ code: number | null, signal: NodeJS.Signals | null, output: string }>} rejects when it cannot start
 */
export function runChild(command, args, { cwd, env, stdio = 'pipe', shell = false, interrupts, onStart }) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env,
      shell,
      stdio: stdio === 'inherit' ? 'inherit' : ['ignore', 'pipe', 'pipe'],
      windowsHide: true,
    });
    interrupts.track(child);
    onStart?.(child.pid);
    let output = '';
    /** @param {Buffer} chunk */
    const collect = (chunk) => {
      output += chunk;
    };
    child.stdout?.on('data', collect);
    child.stderr?.on('data', collect);
    child.once('error', reject);
    child.once('close', (code, signal) => {
      try {
        interrupts.throwIfReceived();
        resolve({ code, signal, output });
      } catch (interrupted) {
        reject(interrupted);
      }
    });
  });
}
