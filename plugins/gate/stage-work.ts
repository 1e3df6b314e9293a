import type { GateAction } from 'mortise/contracts/gate';
import type { GateWork, Observation, ObservationInput } from 'mortise/sdk';
import type { Draft } from './draft.js';

/** What a stage of a plugin holds: it can add to the draft while it runs, and nothing else. */
export class StageWork implements GateWork {
  #draft: Draft | undefined;
  readonly observation: Observation;

  constructor(draft: Draft) {
    this.#draft = draft;
    this.observation = draft.observation;
  }

  propose(action: GateAction, reason: string): void {
    this.#open().propose(action, reason);
  }

  tag(key: string, value: string): void {
    this.#open().tag(key, value);
  }

  feature(key: string, value: unknown): void {
    this.#open().feature(key, value);
  }

  setScene(scene: string): void {
    this.#open().setScene(scene);
  }

  addScore(amount: number, why: string): void {
    this.#open().addScore(amount, why);
  }

  emit(observation: ObservationInput): void {
    this.#open().emit(observation);
  }

  /** What comes later comes too late. */
  close(): void {
    this.#draft = undefined;
  }

  #open(): Draft {
    if (!this.#draft) throw new Error('the stage has ended');
    return this.#draft;
  }
}
