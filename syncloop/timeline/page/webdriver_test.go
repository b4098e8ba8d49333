package page_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// browser is a session of a headless Chromium, driven by the WebDriver protocol.
type browser struct {
	t   *testing.T
	url string // of the session
}

// newBrowser starts a Chromium that stops with the test.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	require.NoError(t, err, "-chromium needs chromium and chromedriver: apt-get install chromium chromium-driver")
	b := &browser{t, driver(t)}
	var session struct{ SessionID string }
	b.call("POST", "/session", map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{
		"goog:chromeOptions": map[string]any{"binary": program, "args": []string{
			"--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
			"--disable-component-update", "--disable-sync", "--user-data-dir=" + t.TempDir(), "--window-size=1200,900",
		}},
		"goog:loggingPrefs": map[string]string{"browser": "ALL", "performance": "ALL"},
	}}}, &session)
	b.url += "/session/" + session.SessionID
	t.Cleanup(func() { b.call("DELETE", "", nil, nil) })
	return b
}

// driver starts a chromedriver and returns its address.
func driver(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("chromedriver", "--port=0")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if m := regexp.MustCompile(`started successfully on port (\d+)`).FindStringSubmatch(lines.Text()); m != nil {
			return "http://127.0.0.1:" + m[1]
		}
	}
	t.Fatal("chromedriver has not said on which port it listens")
	return ""
}

// call makes a request of the protocol and decodes the value of its answer.
func (b *browser) call(method, path string, body, value any) {
	b.t.Helper()
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		require.NoError(b.t, err)
		in = bytes.NewReader(text)
	}
	req, err := http.NewRequest(method, b.url+path, in)
	require.NoError(b.t, err)
	answer, err := http.DefaultClient.Do(req)
	require.NoError(b.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(b.t, err)
	require.Equal(b.t, 200, answer.StatusCode, "%s %s: %s", method, path, text)
	if value == nil {
		return
	}
	var out struct{ Value json.RawMessage }
	require.NoError(b.t, json.Unmarshal(text, &out))
	require.NoError(b.t, json.Unmarshal(out.Value, value), "%s", out.Value)
}

func (b *browser) open(url string) { b.call("POST", "/url", map[string]any{"url": url}, nil) }

// eval runs the body of a function and decodes what it returns.
func (b *browser) eval(script string, value any) {
	b.t.Helper()
	b.call("POST", "/execute/sync", map[string]any{"script": script, "args": []any{}}, value)
}

// text evaluates an expression that is a string.
func (b *browser) text(expression string) (s string) {
	b.t.Helper()
	b.eval("return String("+expression+")", &s)
	return s
}

// The keys of the protocol.
const (
	keyTab, keyEscape, keyEnd, keyHome = "\ue004", "\ue00c", "\ue010", "\ue011"
	keyLeft, keyUp, keyRight, keyDown  = "\ue012", "\ue013", "\ue014", "\ue015"
)

// press presses keys, one after the other.
func (b *browser) press(keys ...string) {
	b.t.Helper()
	var actions []map[string]string
	for _, key := range keys {
		actions = append(actions, map[string]string{"type": "keyDown", "value": key}, map[string]string{"type": "keyUp", "value": key})
	}
	b.call("POST", "/actions", map[string]any{"actions": []any{map[string]any{"type": "key", "id": "k", "actions": actions}}}, nil)
}

// prefer sets the reader's choice of colours.
func (b *browser) prefer(scheme string) {
	b.t.Helper()
	b.call("POST", "/goog/cdp/execute", map[string]any{"cmd": "Emulation.setEmulatedMedia", "params": map[string]any{
		"features": []any{map[string]string{"name": "prefers-color-scheme", "value": scheme}},
	}}, nil)
}

// logged returns the entries of a log of the browser since the last call.
func (b *browser) logged(kind string) (messages []string) {
	b.t.Helper()
	var entries []struct{ Level, Message string }
	b.call("POST", "/se/log", map[string]any{"type": kind}, &entries)
	for _, e := range entries {
		messages = append(messages, fmt.Sprint(e.Level, " ", e.Message))
	}
	return messages
}
