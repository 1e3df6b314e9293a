/** The used part of the driver, which publishes no types. */
declare module 'better-sqlite3' {
  export default class Database {
    /** @param file a path, or the bytes of a database that is then in memory */
    constructor(
      file: string | Buffer,
      options?: { readonly readonly?: boolean; readonly fileMustExist?: boolean; readonly timeout?: number },
    );
    readonly open: boolean;
    readonly inTransaction: boolean;
    prepare(sql: string): {
      readonly reader: boolean;
      /** Rows are arrays instead of objects. */
      raw(): {
        all(bindings?: readonly unknown[]): unknown[][];
        iterate(bindings?: readonly unknown[]): Iterable<unknown[]>;
      };
      /** The first column of the first row. */
      pluck(): { get(bindings?: readonly unknown[]): unknown; all(bindings?: readonly unknown[]): unknown[] };
      get(bindings?: readonly unknown[]): object | undefined;
      all(bindings?: readonly unknown[]): object[];
      run(bindings?: readonly unknown[]): { readonly changes: number; readonly lastInsertRowid: number | bigint };
    };
    pragma(text: string, options?: { readonly simple?: boolean }): unknown;
    exec(sql: string): unknown;
    transaction<T>(run: () => T): { immediate(): T };
    close(): void;
  }
}
