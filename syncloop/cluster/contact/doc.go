// Package contact tracks whether the API server answers, from every call of every loop (experimental).
//
// Without it, each loop that talks to the server would wait for its own backoff after an outage, up to half
// a minute, although the server already answers another loop. Therefore all loops report their calls to one
// Contact and wait through it. The first answer ends all waits.
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
//   - A call without an answer is a failure. A response that the server is unavailable or does not know the
//     node's credentials is a failure too.
//   - Internal errors, timeouts, denied rights and an overloaded server prove nothing, nor does a call whose
//     caller has given up. Any other response proves that the server answers.
//   - An outage starts with the first failure and ends with the first answer. Then all waits end, and all
//     subscribers are called in the order of their subscription.
//   - A Contact starts no goroutine and has no timer of its own.
//   - A Contact starts nothing and has no timer of its own.
package contact
