/** How long to wait, how often to try and when to give up. */
export interface RequestOptions {
  /** Ends the request, its retries and their waits; the promise is rejected with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Milliseconds for one attempt, until its answer is complete. For uploads: without any progress. 0 for no limit. */
  timeout?: number | undefined;
  /** Attempts after the first. */
  maxRetries?: number | undefined;
}

/** Where the service is, who asks, and what holds for all requests. */
export interface ClientOptions {
  /** Where the service is: `https://notes.example.com`, with or without `/v1`. */
  baseUrl: string;
  /** Both halves of an API key, or one access token of an end user. */
  key?: string;
  /** Never in a page that strangers open: give them access tokens. */
  secret?: string;
  /** An access token, good for uploading only. */
  token?: string;
  /** Milliseconds for one attempt of a request; 30,000 by default, 60,000 without progress for uploads. */
  timeout?: number;
  /** Attempts after the first; 3 by default. */
  maxRetries?: number;
  /** Sent with every request, for a proxy that asks for them. */
  headers?: Record<string, string>;
  /** Instead of the global one, for a proxy or a test. Uploads in browsers then use it instead of XMLHttpRequest. */
  fetch?: typeof fetch;
  /** Told of each answer, for a display of the limits. Its body belongs to the client. */
  onResponse?: (response: Response) => void;
}
