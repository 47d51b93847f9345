/** For test/monitoring. The other scripts are not type-checked. */
export function installPrometheus(): Promise<{ prometheus?: string; promtool?: string; problem?: string }>;
