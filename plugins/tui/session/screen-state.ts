import { type Edited, emptyText } from '../text/edit-text.js';
import type { Locale } from '../words.js';
import type { Entry } from './entries.js';
import type { ChatRow, Connection, Question, QuestionRequest } from './gateway.js';

export const promptModes = ['default', 'codex', 'claude'] as const;
export const collaborationModes = ['default', 'plan', 'execute', 'pair_programming'] as const;

/** A list to choose from; typing filters it. */
export interface Picker {
  readonly kind: 'chats' | 'models';
  readonly filter: string;
  readonly index: number;
  readonly items: readonly PickerItem[];
}

export interface PickerItem {
  readonly id: string;
  readonly label: string;
  readonly detail: string;
}

export const settingFields = ['apiBase', 'apiKey', 'userId', 'channel', 'locale'] as const;
type SettingField = (typeof settingFields)[number];

export interface SettingsForm {
  readonly kind: 'settings';
  readonly index: number;
  readonly values: Readonly<Record<SettingField, Edited>>;
}

type Overlay = Picker | SettingsForm | { readonly kind: 'help' };

/** The questions of a tool, answered one after the other. */
interface QuestionForm {
  readonly request: QuestionRequest;
  readonly at: number;
  /** Option that Enter chooses while nothing is typed. */
  readonly option: number;
  readonly answers: Readonly<Record<string, readonly string[]>>;
}

/** The state of the screen. A new value with every change. */
export interface ScreenState {
  readonly columns: number;
  readonly rows: number;
  readonly connection: Connection;
  readonly locale: Locale;
  readonly sessionId: string;
  /** The stored chat of the session; undefined until the first turn has begun. */
  readonly chat: ChatRow | undefined;
  readonly chats: readonly ChatRow[];
  readonly entries: readonly Entry[];
  /** First line of the transcript that is shown; `end` follows what is added. */
  readonly top: number | 'end';
  /** Whether tool results are shown in full. */
  readonly showsResults: boolean;
  readonly turn: { readonly startedAt: number; readonly isCancelling: boolean } | undefined;
  readonly form: QuestionForm | undefined;
  readonly overlay: Overlay | undefined;
  readonly input: Edited;
  /** Index of the marked command among the suggestions. */
  readonly suggestion: number;
  readonly model: string;
  readonly promptMode: (typeof promptModes)[number];
  readonly collaborationMode: (typeof collaborationModes)[number];
}

export function firstState(
  connection: Connection,
  locale: Locale,
  sessionId: string,
  size: Pick<ScreenState, 'columns' | 'rows'>,
): ScreenState {
  return {
    ...size,
    connection,
    locale,
    sessionId,
    chat: undefined,
    chats: [],
    entries: [],
    top: 'end',
    showsResults: false,
    turn: undefined,
    form: undefined,
    overlay: undefined,
    input: emptyText,
    suggestion: 0,
    model: '',
    promptMode: 'default',
    collaborationMode: 'default',
  };
}

/** The items of a picker that match its filter. */
export function pickable({ items, filter }: Picker): readonly PickerItem[] {
  const wanted = filter.trim().toLowerCase();
  return wanted === ''
    ? items
    : items.filter(({ label, detail }) => `${label} ${detail}`.toLowerCase().includes(wanted));
}

export const questionOf = ({ request, at }: QuestionForm): Question | undefined => request.questions[at];
