// Package contact knows whether the API server answers, from every call of every loop (experimental).
//
// After an outage each loop that talks to the server would wait for its own backoff, up to
// half a minute, although another loop's call has long been answered. So every loop reports
// its calls to one Contact, waits by it, and the first answer ends all waits.
//
//	c := contact.New(contact.Config{})
//	outages := c.State().Outages
//	pod, err := pods.Get(ctx, namespace, name)
//	c.Report(err)
//	if err != nil {
//		answered, err := c.Wait(ctx, outages, 10*time.Second)
//	}
//
// # The contract
//
//   - A call that got no answer is a failure, and so is one that a server refuses because
//     it is unavailable or does not know the node. Any other answer proves that the server
//     is there, but for an internal error, a timeout, a right that is denied, and a server that
//     has no time, which prove nothing, and neither does a call that its caller has given up.
//   - An outage begins with the first failure and ends with the first answer. Then all
//     waits end and all subscribers are called, in order of subscription.
//   - A Contact starts nothing and has no timer of its own.
package contact
