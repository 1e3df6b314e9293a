/** Names that models use for a tool, after lower-casing. */
const aliases: Readonly<Record<string, string>> = {
  view_file_lines: 'view',
  view_file_lins: 'view',
  view_file: 'view',
  edit_file_lines: 'edit',
  edit_file_lins: 'edit',
  edit_file: 'edit',
  web_browser: 'browser',
  browser_use: 'browser',
  browser_tool: 'browser',
  web_search: 'search',
  search_api: 'search',
  search_tool: 'search',
  selfops: 'self_ops',
  spawnagent: 'spawn_agent',
  sendinput: 'send_input',
  resumeagent: 'resume_agent',
  closeagent: 'close_agent',
  requestuserinput: 'request_user_input',
  updateplan: 'update_plan',
  applypatch: 'apply_patch',
};

/** Names of Claude's tools and the keys of the tools behind them; derived tools have no key. Claude mode only. */
export const claudeTools: Readonly<Record<string, string>> = {
  Read: 'claude_read',
  Write: 'claude_write',
  Edit: 'claude_edit',
  MultiEdit: 'claude_multi_edit',
  NotebookRead: 'claude_notebook_read',
  NotebookEdit: 'claude_notebook_edit',
  LS: 'claude_ls',
  Glob: 'claude_glob',
  Grep: 'claude_grep',
};

/** Claude's tools that are derived from others. */
export const claudeDerived = ['Bash', 'WebSearch', 'WebFetch'] as const;

const claudeByLowerCase = new Map(
  [...Object.keys(claudeTools), ...claudeDerived].map((name) => [name.toLowerCase(), name]),
);

/** Claude's spelling of a name in any case; undefined when Claude has no such tool. */
export function claudeName(name: string): string | undefined {
  return claudeByLowerCase.get(name.toLowerCase());
}

/** Claude's name of the tool with this key. */
export function claudeNameOf(key: string): string | undefined {
  return Object.keys(claudeTools).find((name) => claudeTools[name] === key);
}

/** The tool that a model means: lower case, without the prefix `functions.`, aliases resolved. */
export function resolveAlias(name: string): string {
  const plain = name
    .trim()
    .toLowerCase()
    .replace(/^functions\./, '');
  return Object.hasOwn(aliases, plain) ? (aliases[plain] ?? plain) : plain;
}
