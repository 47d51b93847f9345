/**
 * The condition that the queue of an account moves on: it is not suspended, or the operator lets it finish (D4). SQL for
 * statements of modules that do not know the table. Costs one look into an index that holds only accounts on hold.
 * @param accountId a column of the statement, such as `r.account_id`
 */
export const accountNotOnHold = (accountId: string): string => `NOT EXISTS (
  SELECT FROM accounts held WHERE held.id = ${accountId} AND held.status = 'suspended' AND NOT held.finish_queue)`;
