export interface GuardedFetchOptions extends RequestInit {
  /** Set when the URL comes from a user or a model: private, loopback, link-local and metadata addresses are refused. */
  readonly untrusted?: boolean;
  /**
   * Set to `refused` when an administrator chose the URL and the platform sends user data to it: link-local addresses
   * and the metadata services of clouds are refused, whatever the settings. Private and loopback addresses are allowed.
   */
  readonly linkLocal?: 'refused';
  /** Milliseconds to the head of the response, and between two pieces of its body; 300,000 when absent, 0 = no limit. */
  readonly headMs?: number;
  readonly idleMs?: number;
}

/** A client's request, forwarded to an address that an administrator chose. */
export interface ByteExchange {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly signal: AbortSignal;
  /** Milliseconds to the head of the response, and between two pieces of its body; 300,000 when absent, 0 = no limit. */
  readonly headMs?: number;
  readonly idleMs?: number;
}

/** A response as it arrives: nothing is decoded, and redirects are not followed. */
export interface ByteResponse {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Ending the iteration early closes the connection. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** How a {@link GuardedFetch.socket} connects, and who receives its frames. */
export interface SocketExchange extends Pick<GuardedFetchOptions, 'untrusted' | 'linkLocal'> {
  /** Ends the connection without a closing handshake. */
  readonly signal: AbortSignal;
  /** Milliseconds until the connection must be open; 10,000 when absent. */
  readonly openMs?: number;
  /** Largest accepted message, bytes; a larger one closes the connection. 1 MiB when absent. */
  readonly maxFrameBytes?: number;
  /** A whole text message. The first one may arrive before the call of {@link GuardedFetch.socket} has returned. */
  message(frame: string, socket: OutboundSocket): void;
  /** Called once for a connection that was open, after the last message. The code is 1006 when the connection was lost. */
  close(code: number): void;
}

/** A WebSocket connection to another server. */
export interface OutboundSocket {
  /** Does nothing once the connection is closing. */
  send(frame: string): void;
  close(code?: number): void;
  /** Ends the connection without a closing handshake. */
  terminate(): void;
}

/**
 * `fetch` that only reaches the hosts of the manifest's `permissions.network`. Redirects are checked again.
 * @throws MortiseError `network_denied`.
 */
export interface GuardedFetch {
  (url: string | URL, options?: GuardedFetchOptions): Promise<Response>;
  /**
   * Refuses an address that no request with these options could reach, without resolving its name.
   * @throws MortiseError `network_denied`
   */
  check(url: URL, options?: Pick<GuardedFetchOptions, 'untrusted' | 'linkLocal'>): Promise<void>;
  /**
   * One exchange whose bytes are forwarded unchanged in both directions, as by a proxy. It costs a fraction of a fetch.
   * @throws MortiseError `network_denied`, or the error of the connection
   */
  bytes(url: string | URL, exchange: ByteExchange): Promise<ByteResponse>;
  /**
   * Opens a WebSocket; redirects are not followed. Resolves when it is open.
   * @throws MortiseError `network_denied`, or the error of the connection
   */
  socket(url: string | URL, exchange: SocketExchange): Promise<OutboundSocket>;
}
