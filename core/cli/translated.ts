/** The languages of the command line. Texts of servers and plugins are not translated. */
export const locales = ['en-US', 'zh-CN'] as const;
export type Locale = (typeof locales)[number];

export const chinese = {
  'Usage:': '用法：',
  'Options:': '选项：',
  'Commands:': '命令：',
  'Arguments:': '参数：',
  'Example:': '示例：',
  'Examples:': '示例：',
  'Runs and manages Mortise.': '运行和管理 Mortise。',
  'print the version': '显示版本',
  'print JSON': '输出 JSON',
  'language: en-US or zh-CN (MORTISE_LOCALE; else en-US)': '语言：en-US 或 zh-CN（MORTISE_LOCALE；默认 en-US）',
  'address of the running server (MORTISE_API_BASE; else from its settings)':
    '正在运行的服务器的地址（MORTISE_API_BASE；默认取自其设置）',
  'API key (MORTISE_API_KEY)': 'API 密钥（MORTISE_API_KEY）',
  'admin key (GOVERNANCE_ADMIN_KEY)': '管理员密钥（GOVERNANCE_ADMIN_KEY）',
  'display help for command': '显示命令的帮助',
  'No Mortise server answers at {address}.': '{address} 没有 Mortise 服务器响应。',
  'No Mortise server answers.': '没有 Mortise 服务器响应。',
  'Start one with npm start, or pass its address with --api-base.':
    '用 npm start 启动服务器，或用 --api-base 指定地址。',
  'The server at {origin} does not answer: {reason}.': '{origin} 的服务器没有响应：{reason}。',
  'Run mortise status to check whether it is running.': '运行 mortise status 查看它是否在运行。',
  'Check the name: the list command of the same group shows all names.':
    '请检查名称：同组的 list 命令会列出现有的项目。',
  'Check the current state, then try again.': '请先查看当前状态，然后重试。',
  'Wait a moment, then try again.': '请稍候再试。',
  'Use a key that has this right: --api-key, or --admin-key.': '请使用有此权限的密钥：--api-key 或 --admin-key。',
  'Add --help to the command for its options and examples.': '在命令后加 --help 查看选项和示例。',
  'mortise plugin doctor looks for problems; the server log has details.':
    'mortise plugin doctor 可以查找问题；服务器日志有更多信息。',
  'mortise plugin doctor looks for problems.': 'mortise plugin doctor 可以查找问题。',
  'MORTISE_API_KEY (or --api-key) is not a key of this server.': 'MORTISE_API_KEY（或 --api-key）不是此服务器的密钥。',
  'Set MORTISE_API_KEY to a key of this server, or pass one with --api-key.':
    '请将 MORTISE_API_KEY 设为此服务器的密钥，或用 --api-key 指定。',
  'Set GOVERNANCE_ADMIN_KEY on the server, and to the same key here, or pass it with --admin-key.':
    '请在服务器上设置 GOVERNANCE_ADMIN_KEY，并在此处设为相同的密钥，或用 --admin-key 指定。',
  'GOVERNANCE_ADMIN_KEY (or --admin-key) is not the admin key of this server.':
    'GOVERNANCE_ADMIN_KEY（或 --admin-key）不是此服务器的管理员密钥。',
  'Set GOVERNANCE_ADMIN_KEY to the admin key of this server, or pass it with --admin-key.':
    '请将 GOVERNANCE_ADMIN_KEY 设为此服务器的管理员密钥，或用 --admin-key 指定。',
  'A command is missing.': '缺少命令。',
  'This command does not accept a JSON document: --json before one is short for --body.':
    '此命令不接受 JSON 文档：文档前的 --json 是 --body 的简写。',
  'mortise --help shows the commands; with a command it shows its options.':
    'mortise --help 列出命令；加在命令后则显示其选项。',
  'The arguments are not complete.': '参数不完整。',
  'Usage: mortise {usage}': '用法：mortise {usage}',
  'Usage: mortise {usage}; --help has examples.': '用法：mortise {usage}；--help 有示例。',
  'Mortise {version} is ready.': 'Mortise {version} 已就绪。',
  'Mortise {version} is running but not ready yet.': 'Mortise {version} 正在运行，尚未就绪。',
  'The output cannot be written ({code}).': '无法写入输出（{code}）。',
  'Write it to another place, or free space on the disk.': '请写到别处，或释放磁盘空间。',
  'Nothing to fix.': '没有需要修复的问题。',
  'No Mortise server answered at {address}: this is the state in the files.':
    '{address} 没有 Mortise 服务器响应：以下内容来自文件。',
  'If one runs elsewhere, set its address with --api-base or MORTISE_API_BASE. Its plugin admin must be active.':
    '如果服务器在别处运行，请用 --api-base 或 MORTISE_API_BASE 指定。其插件 admin 启用时才会响应。',
} as const;

type Sentence = keyof typeof chinese;

let current: Locale = 'en-US';

/** Sets the language of this process. Call it before commands are added, because their help is built then. */
export function speak(locale: Locale): void {
  current = locale;
}

/** A sentence in the language of this process. `{name}` is replaced by a value. */
export function translated(sentence: Sentence, values: Readonly<Record<string, string>> = {}): string {
  return translatedTitle(sentence, values);
}

/** Like {@link translated}, for a text that may have no translation, such as a title of the help. */
export function translatedTitle(text: string, values: Readonly<Record<string, string>> = {}): string {
  const own = current === 'zh-CN' && Object.hasOwn(chinese, text) ? chinese[text as Sentence] : text;
  return own.replaceAll(/\{(\w+)\}/g, (place, name: string) => values[name] ?? place);
}

/** The supported language of a setting such as `zh_CN.UTF-8`; undefined for any other. */
export function localeOf(setting: string | undefined): Locale | undefined {
  const language = setting?.trim().split(/[-_.]/)[0]?.toLowerCase();
  return locales.find((locale) => locale.split('-')[0] === language);
}
