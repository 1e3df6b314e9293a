import type { TransactionOption } from 'mortise/sdk';

/** A tracked item: a task, a review, a piece of evidence. */
export interface LogbookItem {
  readonly itemId: number;
  readonly itemType: string;
  readonly title: string;
  readonly projectKey: string | null;
  readonly scope: Readonly<Record<string, unknown>>;
  readonly status: string;
  readonly ownerUserId: string | null;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface NewItem {
  readonly itemType: string;
  readonly title: string;
  readonly projectKey?: string | null;
  readonly scope?: Readonly<Record<string, unknown>>;
  /** `open` when absent. */
  readonly status?: string;
  /** Must be an existing user. */
  readonly ownerUserId?: string | null;
}

/** An event in an item's history. */
export interface LogbookEvent {
  readonly eventId: number;
  readonly itemId: number;
  readonly eventType: string;
  readonly statusFrom: string | null;
  readonly statusTo: string | null;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly actorUserId: string | null;
  readonly source: string;
  readonly createdAt: string;
}

export interface NewEvent {
  readonly itemId: number;
  readonly eventType: string;
  readonly statusFrom?: string | null;
  /** Becomes the item's status. */
  readonly statusTo?: string | null;
  readonly payload?: Readonly<Record<string, unknown>>;
  readonly actorUserId?: string | null;
  /** `tool` when absent. */
  readonly source?: string;
}

/** A file that belongs to an item. */
export interface Attachment {
  readonly attachmentId: number;
  readonly itemId: number;
  readonly kind: string;
  readonly uri: string;
  /** 64 hex digits, lower case. */
  readonly sha256: string;
  readonly sizeBytes: number | null;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly createdAt: string;
}

export interface NewAttachment {
  readonly itemId: number;
  readonly kind: string;
  readonly uri: string;
  readonly sha256: string;
  readonly sizeBytes?: number | null;
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** A patch of source control. */
export interface PatchBlob {
  readonly blobId: number;
  readonly sourceType: string | null;
  readonly sourceId: string | null;
  /** Where the patch is stored; null until it is. */
  readonly uri: string | null;
  readonly evidenceUri: string | null;
  readonly sha256: string | null;
  readonly sizeBytes: number | null;
  readonly format: string;
  readonly meta: Readonly<Record<string, unknown>>;
}

/** One page, newest first. `next` is the cursor of the following page. */
export interface LogbookPage<Row> {
  readonly rows: readonly Row[];
  readonly next: string | null;
}

export interface PageOption {
  /** 1 to 1,000. */
  readonly limit: number;
  readonly cursor?: string | undefined;
}

export interface Items {
  add(item: NewItem, options?: TransactionOption): Promise<LogbookItem>;
  get(itemId: number, options?: TransactionOption): Promise<LogbookItem | null>;
  /** @throws MortiseError `invalid_cursor` (400), as the other queries. */
  query(
    wanted: PageOption & {
      readonly itemType?: string | undefined;
      readonly status?: string | undefined;
      readonly projectKey?: string | undefined;
      readonly ownerUserId?: string | undefined;
    },
    options?: TransactionOption,
  ): Promise<LogbookPage<LogbookItem>>;
}

export interface Events {
  /** Records the event and the item's new status in one transaction. Null when the item does not exist. */
  add(event: NewEvent, options?: TransactionOption): Promise<LogbookEvent | null>;
  query(
    wanted: PageOption & {
      readonly itemId?: number | undefined;
      readonly eventType?: string | undefined;
      readonly actorUserId?: string | undefined;
    },
    options?: TransactionOption,
  ): Promise<LogbookPage<LogbookEvent>>;
}

export interface Attachments {
  /** One attachment per item, kind and hash: an existing one is returned, not created again. */
  attach(
    attachment: NewAttachment,
    options?: TransactionOption,
  ): Promise<{ readonly attachment: Attachment; readonly created: boolean } | null>;
  get(attachmentId: number, options?: TransactionOption): Promise<Attachment | null>;
  query(
    wanted: PageOption & {
      readonly itemId?: number | undefined;
      readonly kind?: string | undefined;
      readonly sha256?: string | undefined;
    },
    options?: TransactionOption,
  ): Promise<LogbookPage<Attachment>>;
}

/** Identifies a patch. All members must match. */
export interface PatchName {
  readonly blobId?: number | undefined;
  readonly evidenceUri?: string | undefined;
  readonly sourceType?: string | undefined;
  readonly sourceId?: string | undefined;
  readonly sha256?: string | undefined;
}

export interface PatchBlobs {
  /** The newest matching patch; null for an empty name. */
  find(name: PatchName, options?: TransactionOption): Promise<PatchBlob | null>;
  /** Records where the patch is stored. @returns false when it does not exist. */
  place(
    blobId: number,
    place: { readonly uri: string; readonly evidenceUri: string | null; readonly sizeBytes: number },
    options?: TransactionOption,
  ): Promise<boolean>;
}
