/** What a link holds behind its `#`: its token, and where it opens. */
export interface ShareLink {
  token: string;
  /** In seconds; 0 is the beginning. */
  time: number;
}

/** @param hash such as `#vnsh_…&t=63` */
export function readShareLink(hash: string): ShareLink {
  const [token = '', ...rest] = hash.replace(/^#/, '').split('&');
  const time = Number(new URLSearchParams(rest.join('&')).get('t') ?? 0);
  return { token, time: Number.isFinite(time) && time > 0 ? time : 0 };
}
