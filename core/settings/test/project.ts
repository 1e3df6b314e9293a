import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Alert } from '../../sdk/index.js';
import { type OpenedSettings, openSettings, type Settings } from '../index.js';

/** The project's folder: the compiled tests are below its `dist`. */
export const repository = fileURLToPath(new URL('../../../../', import.meta.url));

/** A project in a temporary folder, with a clock that the test advances. */
export class Project {
  readonly folder: string;
  readonly alerts: Alert[] = [];
  /** Milliseconds added to the machine's clock. */
  later = 0;
  readonly #opened: Settings[] = [];

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async make(): Promise<Project> {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'mortise-settings-')));
    await mkdir(join(folder, 'config'));
    await writeFile(join(folder, 'package.json'), '{"version":"1.2.3"}');
    await symlink(join(repository, 'schemas'), join(folder, 'schemas'));
    return new Project(folder);
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  async write(name: string, content: unknown): Promise<string> {
    const path = this.path(name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
    return path;
  }

  async open(env: Readonly<Record<string, string>> = {}): Promise<OpenedSettings> {
    const opened = await openSettings({
      projectDir: this.folder,
      env,
      cwd: this.folder,
      now: () => Date.now() + this.later,
    });
    if (opened.ok) {
      this.#opened.push(opened.settings);
      opened.settings.onAlert((alert) => this.alerts.push(alert));
    }
    return opened;
  }

  async settings(env: Readonly<Record<string, string>> = {}): Promise<Settings> {
    const opened = await this.open(env);
    if (!opened.ok) throw new Error(opened.errors.map((error) => error.message).join('\n'));
    return opened.settings;
  }

  async errors(env: Readonly<Record<string, string>>): Promise<readonly string[]> {
    const opened = await this.open(env);
    return opened.ok ? [] : opened.errors.map((error) => error.message);
  }

  async remove(): Promise<void> {
    for (const settings of this.#opened) await settings.dispose();
    await rm(this.folder, { recursive: true, force: true });
  }
}
