import { randomUUID } from 'node:crypto';
import type { TurnEvent } from 'mortise/contracts/agent';
import { isCodedError, type JsonObject, MortiseError } from 'mortise/sdk';
import { emptyText, typed } from '../text/edit-text.js';
import { expandPrompt, readPromptCall } from '../text/prompt-template.js';
import { type Locale, localeOf, type Words, wordsOf } from '../words.js';
import { type Entry, storedEntries, withEvent, withoutRunning } from './entries.js';
import {
  type ChatRow,
  type Connection,
  type Gateway,
  type ModelSlot,
  modelName,
  openGateway,
  type Question,
} from './gateway.js';
import {
  collaborationModes,
  firstState,
  type PickerItem,
  promptModes,
  questionOf,
  type ScreenState,
  settingFields,
} from './screen-state.js';
import { commandWord } from './slash-commands.js';

interface ChatScreenOptions {
  readonly connection: Connection;
  readonly locale: Locale;
  /** The session to begin with; a new one when absent. */
  readonly sessionId: string | undefined;
  /** `MORTISE_ENABLE_PROMPT_TEMPLATES` of this process; the server decides when it is undefined. */
  readonly templates: boolean | undefined;
  readonly size: Pick<ScreenState, 'columns' | 'rows'>;
  /** Ends the UI. */
  quit(): void;
}

/** Events of a stream are drawn together, at most this often: milliseconds. */
const drawEveryMs = 33;
const maxHistory = 100;

/** The state of the UI over time, and the actions of its user. */
export class ChatScreen {
  #state: ScreenState;
  #gateway: Gateway;
  #abort: AbortController | undefined;
  /** The chat that the last input asked to delete. */
  #toDelete: string | undefined;
  #drawing: NodeJS.Timeout | undefined;
  #drawingNext: NodeJS.Immediate | undefined;
  readonly #options: ChatScreenOptions;
  readonly #listeners = new Set<() => void>();
  readonly #sent: string[] = [];
  #recalled = 0;

  constructor(options: ChatScreenOptions) {
    this.#options = options;
    this.#gateway = openGateway(options.connection);
    this.#state = firstState(options.connection, options.locale, options.sessionId ?? newSessionId(), options.size);
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly state = (): ScreenState => this.#state;

  get words(): Words {
    return wordsOf(this.#state.locale);
  }

  /** Changes what is shown. Changes that arrive together, such as keys typed ahead, are drawn once. */
  update(change: Partial<ScreenState>): void {
    this.#state = { ...this.#state, ...change };
    this.#drawingNext ??= setImmediate(() => this.#draw());
  }

  /** Loads chats and model, and the messages of the session that it began with. */
  async open(): Promise<void> {
    await this.#guarded(() => this.#load());
    const { chat } = this.#state;
    if (chat) await this.openChat(chat.id);
  }

  close(): void {
    this.#abort?.abort();
    clearTimeout(this.#drawing);
    clearImmediate(this.#drawingNext);
  }

  quit(): void {
    this.#options.quit();
  }

  /** Sends the input, runs a command, or answers a question. */
  async submit(): Promise<void> {
    const { input, form, turn } = this.#state;
    if (form) return this.#answer(input.text);
    const text = input.text.trim();
    if (text === '') return;
    const word = input.text.startsWith(' ') ? undefined : commandWord(text);
    if (turn && (word === undefined || changesChat.has(word))) return this.#notice('info', this.words.queued);
    this.#remember(input.text);
    this.update({ input: emptyText, suggestion: 0, top: 'end' });
    if (word !== undefined) return this.#run(word);
    const message = await this.#guarded(() => this.#expanded(text));
    // Restores a text that could not be sent.
    if (message === undefined) return this.update({ input: typed(input.text) });
    await this.#send(message);
  }

  /** Cancels the running turn: the gateway cancels turns without a reader. */
  cancel(): void {
    const { turn } = this.#state;
    if (!turn || turn.isCancelling) return;
    this.update({ turn: { ...turn, isCancelling: true }, form: undefined });
    this.#abort?.abort();
  }

  newChat(): void {
    if (this.#isBusy()) return;
    this.update({
      sessionId: newSessionId(),
      chat: undefined,
      entries: [],
      top: 'end',
      form: undefined,
      overlay: undefined,
    });
  }

  async refresh(): Promise<void> {
    await this.#guarded(async () => {
      await this.#load();
      const { chat, turn } = this.#state;
      if (chat && !turn) await this.openChat(chat.id);
      this.#notice('info', this.words.refreshed);
    });
  }

  async openChat(id: string): Promise<void> {
    if (this.#isBusy()) return;
    const chat = this.#state.chats.find((one) => one.id === id);
    if (!chat) return;
    await this.#guarded(async () => {
      const messages = await this.#gateway.messages(id);
      this.update({
        overlay: undefined,
        chat,
        sessionId: chat.session_id,
        entries: storedEntries(messages),
        top: 'end',
        ...modesOf(chat),
      });
      const [request] = await this.#gateway.questions(chat.session_id);
      if (request) this.update({ form: { request, at: 0, option: 0, answers: {} } });
    });
  }

  async showChats(): Promise<void> {
    await this.#guarded(async () => {
      await this.#load();
      const items = this.#state.chats.map((chat) => ({
        id: chat.id,
        label: chat.name,
        detail: chat.updated_at.slice(0, 16).replace('T', ' '),
      }));
      this.#pick('chats', items, this.#state.chat?.id);
    });
  }

  async showModels(): Promise<void> {
    await this.#guarded(async () => {
      const models = await this.#gateway.models();
      const items = models.map(({ providerId, model, name, provider }) => ({
        id: `${providerId}/${model}`,
        label: `${providerId}/${model}`,
        detail: name === model ? provider : `${name} · ${provider}`,
      }));
      this.#pick('models', items, this.#state.model);
    });
  }

  showSettings(): void {
    const { connection, locale } = this.#state;
    const { apiBase, apiKey, userId, channel } = connection;
    const values = {
      apiBase: typed(apiBase),
      apiKey: typed(apiKey),
      userId: typed(userId),
      channel: typed(channel),
      locale: typed(locale),
    };
    this.update({ overlay: { kind: 'settings', index: 0, values } });
  }

  /** Handles Enter in an overlay. */
  async choose(item: PickerItem | undefined): Promise<void> {
    const { overlay } = this.#state;
    if (overlay?.kind === 'settings') return this.#applySettings();
    if (item === undefined) return;
    if (overlay?.kind === 'chats') return this.openChat(item.id);
    if (overlay?.kind !== 'models') return;
    const slash = item.id.indexOf('/');
    await this.#guarded(async () => {
      await this.#gateway.chooseModel(item.id.slice(0, slash), item.id.slice(slash + 1));
      this.update({ overlay: undefined, model: item.id });
      this.#notice('info', `${this.words.model}: ${item.id}`);
    });
  }

  /** Shows tool results in full, or only their first lines. */
  toggleResults(): void {
    this.update({ showsResults: !this.#state.showsResults });
  }

  nextPromptMode(): void {
    const { promptMode } = this.#state;
    this.update({ promptMode: after(promptModes, promptMode), collaborationMode: 'default' });
    this.#notice('info', `${this.words.mode}: ${this.#state.promptMode}`);
  }

  nextCollaborationMode(): void {
    const { promptMode, collaborationMode } = this.#state;
    const isCodex = promptMode === 'codex';
    if (isCodex) this.update({ collaborationMode: after(collaborationModes, collaborationMode) });
    const { collaboration, codexOnly } = this.words;
    this.#notice('info', isCodex ? `${collaboration}: ${this.#state.collaborationMode}` : codexOnly);
  }

  /** Shows an earlier input, or a later one. */
  recall(step: -1 | 1): void {
    const at = this.#recalled + step;
    if (at < 0 || at > this.#sent.length) return;
    this.#recalled = at;
    this.update({ input: typed(this.#sent[at] ?? '') });
  }

  async #run(word: string): Promise<void> {
    switch (word) {
      case '/new':
        return this.newChat();
      case '/history':
        return this.showChats();
      case '/model':
        return this.showModels();
      case '/mode':
        return this.nextPromptMode();
      case '/refresh':
        return this.refresh();
      case '/delete':
        return this.#deleteChat();
      case '/settings':
        return this.showSettings();
      case '/help':
        return this.update({ overlay: { kind: 'help' } });
      case '/exit':
        return this.quit();
      default:
        this.#notice('error', `${this.words.unknownCommand} ${word}.`, this.words.unknownCommandHint);
    }
  }

  async #send(text: string): Promise<void> {
    const { sessionId, entries, promptMode, collaborationMode } = this.#state;
    const abort = new AbortController();
    this.#abort = abort;
    this.update({
      entries: [...entries, { kind: 'user', text }],
      turn: { startedAt: Date.now(), isCancelling: false },
    });
    const businessParams: JsonObject = {
      prompt_mode: promptMode,
      ...(promptMode === 'codex' ? { collaboration_mode: collaborationMode } : {}),
    };
    const request = { sessionId, text, idempotencyKey: randomUUID(), businessParams, signal: abort.signal };
    try {
      for await (const event of this.#gateway.turn(request)) this.#show(event);
    } catch (error) {
      if (abort.signal.aborted) this.#notice('info', this.words.cancelled);
      else this.#report(error);
    } finally {
      this.#abort = undefined;
      this.update({ turn: undefined, form: undefined, entries: withoutRunning(this.#state.entries) });
    }
    // The UI may be closed; a missing server is already reported.
    await this.#load().catch(() => undefined);
  }

  #show(event: TurnEvent): void {
    this.#state = { ...this.#state, entries: withEvent(this.#state.entries, event) };
    if (event.type === 'completed' && event.meta.model) {
      this.#state = { ...this.#state, model: modelName(event.meta.model as ModelSlot) };
    }
    const request = event.type === 'tool_call' ? questionsIn(event) : undefined;
    if (request) this.#state = { ...this.#state, form: { request, at: 0, option: 0, answers: {} } };
    this.#drawing ??= setTimeout(() => this.#draw(), drawEveryMs);
  }

  async #answer(text: string): Promise<void> {
    const { form, sessionId } = this.#state;
    const question = form && questionOf(form);
    if (!form || !question) return;
    const answer = text.trim() === '' ? question.options?.[form.option]?.label : text.trim();
    if (answer === undefined) return;
    const answers = { ...form.answers, [question.id]: [answer] };
    this.update({ input: emptyText });
    this.#notice('info', `${question.header || question.question} → ${answer}`);
    if (form.at + 1 < form.request.questions.length) {
      return this.update({ form: { ...form, at: form.at + 1, option: 0, answers } });
    }
    this.update({ form: undefined });
    await this.#guarded(() => this.#gateway.answer(sessionId, form.request.requestId, answers));
  }

  /** The message to send, with a template call expanded. */
  async #expanded(text: string): Promise<string> {
    const call = readPromptCall(text);
    if (!call) return text;
    if (!(this.#options.templates ?? (await this.#gateway.hasTemplates()))) {
      throw new MortiseError('feature_disabled', this.words.templatesOff, { hint: this.words.templatesOffHint });
    }
    for (const folder of ['prompts', 'prompt']) {
      const template = await this.#gateway.workspaceFile(`${folder}/${call.name}.md`);
      if (template !== undefined) return expandPrompt(template, call);
    }
    throw new MortiseError('not_found', `${this.words.templateMissing} ${call.name}.`, {
      hint: `prompts/${call.name}.md`,
    });
  }

  /** Deletes the chat on the second call in a row, because it cannot be undone. */
  async #deleteChat(): Promise<void> {
    const { chat } = this.#state;
    if (!chat) return this.newChat();
    if (this.#toDelete !== chat.id) {
      this.#toDelete = chat.id;
      this.#notice('info', this.words.confirmDelete, this.words.confirmDeleteHint);
      return;
    }
    this.#toDelete = undefined;
    await this.#guarded(async () => {
      await this.#gateway.deleteChat(chat.id);
      this.newChat();
      this.#notice('info', this.words.deleted);
      await this.#load();
    });
  }

  async #applySettings(): Promise<void> {
    const { overlay, connection, locale } = this.#state;
    if (overlay?.kind !== 'settings' || this.#isBusy()) return;
    const given = Object.fromEntries(settingFields.map((field) => [field, overlay.values[field].text.trim()]));
    const { apiBase = '', apiKey = '', userId = '', channel = '' } = given;
    const next: Connection = {
      apiBase: (apiBase || connection.apiBase).replace(/\/+$/, ''),
      apiKey,
      userId: userId || connection.userId,
      channel: (channel || connection.channel).toLowerCase(),
    };
    this.update({ overlay: undefined, connection: next, locale: given.locale ? localeOf(given.locale) : locale });
    if (JSON.stringify(next) === JSON.stringify(connection)) return;
    this.#gateway = openGateway(next);
    this.update({ chats: [] });
    this.newChat();
    await this.#guarded(() => this.#load());
  }

  /** Chats and model; the chat of the session once it is stored. */
  async #load(): Promise<void> {
    const [chats, model] = await Promise.all([this.#gateway.chats(), this.#gateway.activeModel()]);
    const { sessionId } = this.#state;
    this.update({ chats, ...(model === '' ? {} : { model }), chat: chats.find((one) => one.session_id === sessionId) });
  }

  #pick(kind: 'chats' | 'models', items: readonly PickerItem[], current: string | undefined): void {
    const index = Math.max(
      0,
      items.findIndex(({ id }) => id === current),
    );
    this.update({ overlay: { kind, items, filter: '', index } });
  }

  #remember(text: string): void {
    // A prefix of the command may have been completed.
    if (!'/delete'.startsWith(text.trim())) this.#toDelete = undefined;
    if (this.#sent.at(-1) !== text) this.#sent.push(text);
    if (this.#sent.length > maxHistory) this.#sent.shift();
    this.#recalled = this.#sent.length;
  }

  #isBusy(): boolean {
    if (this.#state.turn) this.#notice('info', this.words.busy);
    return this.#state.turn !== undefined;
  }

  #notice(tone: 'info' | 'error', text: string, hint?: string): void {
    const notice: Entry = { kind: 'notice', tone, text, hint };
    // A repeated notice is not added again.
    const last = this.#state.entries.at(-1);
    const isRepeated = last?.kind === 'notice' && last.text === text;
    this.update({ entries: isRepeated ? this.#state.entries : [...this.#state.entries, notice], top: 'end' });
  }

  #report(error: unknown): void {
    const coded = isCodedError(error)
      ? error
      : new MortiseError('ui_error', error instanceof Error ? error.message : String(error));
    const hint = error instanceof MortiseError ? error.hint : undefined;
    this.#notice('error', `[${coded.code}] ${coded.message}`, hint);
  }

  async #guarded<T>(action: () => Promise<T>): Promise<T | undefined> {
    try {
      return await action();
    } catch (error) {
      this.#report(error);
      return undefined;
    }
  }

  #draw(): void {
    clearTimeout(this.#drawing);
    clearImmediate(this.#drawingNext);
    this.#drawing = undefined;
    this.#drawingNext = undefined;
    for (const listener of this.#listeners) listener();
  }
}

/** Commands that wait until the running turn has ended. */
const changesChat = new Set(['/new', '/delete', '/refresh']);

function newSessionId(): string {
  return `tui-${randomUUID()}`;
}

function after<T>(all: readonly T[], one: T): T {
  return all[(all.indexOf(one) + 1) % all.length] ?? one;
}

/** The modes that a chat was last used with. */
function modesOf({ meta }: ChatRow): Partial<ScreenState> {
  const promptMode = promptModes.find((mode) => mode === meta.prompt_mode);
  const plain = String(meta.collaboration_mode ?? '')
    .replace('PairProgramming', 'pair_programming')
    .toLowerCase();
  const collaborationMode = collaborationModes.find((mode) => mode === plain);
  return { promptMode: promptMode ?? 'default', collaborationMode: collaborationMode ?? 'default' };
}

function questionsIn({ tool_call: { name, input } }: Extract<TurnEvent, { type: 'tool_call' }>) {
  if (name !== 'request_user_input' || typeof input !== 'object' || input === null) return undefined;
  const { request_id: requestId, questions } = input as { request_id?: unknown; questions?: unknown };
  if (typeof requestId !== 'string' || !Array.isArray(questions) || questions.length === 0) return undefined;
  return { requestId, questions: questions as readonly Question[] };
}
