import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @typedef {object} Schema
 * @property {string} [title]
 * @property {string} [description]
 * @property {unknown} [default]
 * @property {string | readonly string[]} [type]
 * @property {readonly unknown[]} [enum]
 * @property {unknown} [const]
 * @property {number} [minimum]
 * @property {number} [maximum]
 * @property {Schema} [items]
 * @property {Readonly<Record<string, Schema>>} [properties]
 * @property {string | readonly string[]} [x-env]
 * @property {boolean} [x-secret]
 * @property {{ env?: string | readonly string[], pollEnv?: string | readonly string[] }} [x-file]
 */

export const settingsPage = 'config/README.md';

const begin = '<!-- Generated from the schemas by `npm run generate`: do not edit below this line. -->';

/** Variables that are not settings, or are read before them. */
const variables = [
  ['MORTISE_CONFIG_DIR', '`config`', 'folder of the configuration files'],
  ['MORTISE_ENV_FILE', '`.env`', 'file with variables, in the working directory; those of the process win'],
  [
    'MORTISE_WATCHDOG_SECONDS',
    '`10`',
    'how long a plugin may block the event loop before the process restarts without it; `0` turns the watchdog off',
  ],
  ['MORTISE_SAFE_MODE', '', '`1` starts the required plugins only'],
  ['MORTISE_API_BASE', '', 'address of the server that the command line calls'],
  [
    'OTEL_…',
    '',
    'tracing: the variables of the OpenTelemetry SDK that the process is started with (see `core/telemetry/README.md`); without them no trace is recorded, but `traceparent` is still propagated',
  ],
];

/**
 * The settings page: its manual text, and every setting with default, variables and plugin.
 * @param {string} checkout
 */
export function settingsPageText(checkout) {
  const written = readFileSync(join(checkout, settingsPage), 'utf8').split(begin)[0]?.trimEnd();
  const sections = [
    section('host', 'mortise.json', read(join(checkout, 'schemas', 'mortise.schema.json')), 'The host'),
  ];
  for (const key of readdirSync(join(checkout, 'plugins')).sort()) {
    const schema = readIfPresent(join(checkout, 'plugins', key, 'config.schema.json'));
    // A folder without a manifest is not a plugin.
    if (schema && existsSync(join(checkout, 'plugins', key, 'plugin.json')))
      sections.push(section(key, `${key}.json`, schema, `Plugin \`${key}\``));
  }
  const other = ['| variable | default | meaning |', '| --- | --- | --- |', ...variables.map((cells) => row(cells))];
  const head = ['## All settings', '', 'A setting is named `<owner>.<property>`, as `mortise config` prints it.'];
  const rest = ['### Other variables', '', ...other];
  return [written, '', begin, '', ...head, '', sections.join('\n\n'), '', ...rest, ''].join('\n');
}

/**
 * @param {string} owner
 * @param {string} file
 * @param {Schema} schema
 * @param {string} title
 */
function section(owner, file, schema, title) {
  const named = names(schema['x-file']?.env);
  const poll = names(schema['x-file']?.pollEnv);
  const where = [
    `File \`${file}\`${named.length > 0 ? `, or what ${code(named)} names` : ''}.`,
    ...(poll.length > 0 ? [`${code(poll)}: poll interval in milliseconds, 0 = only on request.`] : []),
  ];
  const rows = settings(schema, [owner]).map((cells) => row(cells));
  const head = ['| setting | default | variables | value |', '| --- | --- | --- | --- |'];
  return [`### ${title}`, '', where.join(' '), '', ...head, ...rows].join('\n');
}

/**
 * One row for each property, except objects with listed members.
 * @param {Schema} schema
 * @param {readonly string[]} path
 * @returns {string[][]}
 */
function settings(schema, path) {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    if (name === '$schema') return [];
    const at = [...path, name];
    if (property.properties) return settings(property, at);
    const shown = property.default === undefined ? '' : code([JSON.stringify(property.default)]);
    return [[code([at.join('.')]), shown, code(names(property['x-env'])), meaning(property)]];
  });
}

/** @param {Schema} property */
function meaning(property) {
  const kinds = [allowed(property), ...(property['x-secret'] === true ? ['secret'] : [])];
  const shown = kinds.filter((part) => part !== '').join('; ');
  return [shown, ...(property.description ? [property.description] : [])].join('. ').replace(/^\. /, '');
}

/** @param {Schema} property */
function allowed({ type, enum: some, const: one, minimum, maximum, items }) {
  if (one !== undefined) return code([JSON.stringify(one)]);
  if (some) return some.map((value) => code([JSON.stringify(value)])).join(', ');
  const kind = names(type).join(' or ');
  if (minimum !== undefined && maximum !== undefined) return `${kind}, ${minimum} to ${maximum}`;
  if (minimum !== undefined) return `${kind}, from ${minimum}`;
  if (kind === 'array' && items?.type) return `list of ${names(items.type).join(' or ')}`;
  return kind;
}

/**
 * @param {unknown} value
 * @returns {readonly string[]}
 */
function names(value) {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value : [];
}

/** @param {readonly string[]} texts */
function code(texts) {
  return texts.map((text) => `\`${text}\``).join(', ');
}

/** @param {readonly string[]} cells */
function row(cells) {
  return `| ${cells
    .map((cell) =>
      cell
        .replaceAll('|', '\\|')
        .replaceAll('\n', ' ')
        .replaceAll(/<(?=\w)/g, '\\<'),
    )
    .join(' | ')} |`;
}

/**
 * @param {string} path
 * @returns {Schema}
 */
function read(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** @param {string} path */
function readIfPresent(path) {
  try {
    return read(path);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return undefined;
    throw error;
  }
}
