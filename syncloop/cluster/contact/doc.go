// Package contact tracks whether the API server answers, from every call of every loop (experimental).
//
// Without it, each loop that talks to the server would wait for its own backoff after an outage, up to half
// a minute, although the server already answers another loop. Therefore all loops report their calls to one
// Contact and wait through it. The first answer after an outage ends all waits.
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
//   - A call is a failure if it got no response, also because the caller's deadline has passed, or if the
//     response is 401 (Unauthorized) or 503 (Service Unavailable).
//   - A call is an answer if it has succeeded, or if the server refused the request itself, for example
//     with 400, 404, 409 (Conflict), 410 or 422.
//   - Any other response proves nothing, for example 403 (Forbidden), 429 (Too Many Requests), 500 (Internal
//     Error) and 504 (Timeout). A call whose context was canceled proves nothing either.
//   - An outage starts with the first failure and ends with the first answer. When a counted outage ends, all
//     waits end, and all subscribers are called in the order of their subscription.
//   - Not every outage is counted, because a server that answers only some calls seems to recover with each
//     answer. Five outages in a row are counted, and then one per 15 s. The end of another outage ends no wait.
//   - A Contact starts no goroutine and has no timer of its own.
package contact
