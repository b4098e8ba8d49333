// Package tokens gets tokens of service accounts for pods from an API server, keeps them, and
// replaces them in time.
//
//	tokens, err := tokens.New(tokens.Config{Tokens: server.Tokens()})
//	go tokens.Run(ctx)
//	token, err := tokens.Token(ctx, pod, "", 3607)
//
// # The contract
//
//   - A token is bound to the pod by its UID, and is the same until it is to be replaced:
//     after 80 % of its time, or after 24 hours, or up to ten seconds earlier. Its time is
//     counted from the request, so that the server's clock does not matter.
//   - Run replaces each token that is due and calls Changed for its pod, whose next call of
//     Token returns the new one. Without Run a call of Token replaces it.
//   - If the server gives no new one, the old one is returned until it has expired.
//   - One request per token is under way at a time; others wait for its result. One that
//     failed is not repeated for a second, doubled each time, at most 30 s; Retry ends that. A
//     server that does not know the pod yet (NotFound, Forbidden) is asked again at once, for about 2 s.
//   - Forget drops the tokens of a pod that is gone.
package tokens
