package page_test

import (
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/syncloop/timeline"
	"github.com/podkeel/podkeel/syncloop/timeline/page"
)

var chromium = flag.Bool("chromium", false, "run the tests that need chromium and chromedriver")

// shown serves a page and opens it in a browser. It returns the requests that the server has received.
func shown(t *testing.T, html []byte) (b *browser, requests func() []string) {
	t.Helper()
	if !*chromium {
		t.Skip("needs chromium and chromedriver, and the flag -chromium")
	}
	var mu sync.Mutex
	var paths []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		paths = append(paths, r.URL.Path)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(html)
	}))
	t.Cleanup(server.Close)
	b = newBrowser(t)
	b.open(server.URL + "/page")
	return b, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(paths)
	}
}

func knownPage(t *testing.T) []byte {
	t.Helper()
	p := page.Draw("TestKnown", known())
	return p.HTML
}

// box is the position of an element.
type box struct {
	ID, Label, Lane          string
	Left, Top, Width, Height float64
}

func (b *browser) boxes(selector string) (all []box) {
	b.t.Helper()
	b.eval(`return [...document.querySelectorAll("`+selector+`")].map(e => { const r = e.getBoundingClientRect();
		return {id: e.id, label: e.textContent, lane: e.closest(".lane")?.querySelector(".name").textContent, left: r.left, top: r.top, width: e.offsetWidth, height: r.height} })`, &all)
	return all
}

// TestChromium_Bars: each bar of a known story is on the screen, in its lane, in order, with its label, and at
// its times within a pixel, at any zoom.
func TestChromium_Bars(t *testing.T) {
	b, _ := shown(t, knownPage(t))
	for _, zooms := range []int{0, 1, 8} {
		for range zooms {
			b.press("+")
		}
		bars := b.boxes("main .bar")
		track := b.boxes(".lane:not(.axis) .track")[0]
		i, above := 0, track.Top-1
		for _, lane := range known().Lanes {
			var first box
			for _, want := range lane.Bars {
				require.Less(t, i, len(bars))
				got := bars[i]
				i++
				assert.Equal(t, []string{want.Label, lane.Name}, []string{got.Label, got.Lane})
				left := track.Left + track.Width*at(0).Sub(want.From).Seconds()/-100
				width := track.Width * want.To.Sub(want.From).Seconds() / 100
				if want.IsPoint() {
					assert.InDelta(t, left, center(b, got.ID), 1, "%s after %d steps", want.Label, zooms)
				} else {
					assert.InDelta(t, left, got.Left, 1, "%s after %d steps", want.Label, zooms)
					assert.InDelta(t, width, got.Width, 1, "%s after %d steps", want.Label, zooms)
				}
				if first.ID == "" {
					first = got
					assert.Greater(t, got.Top, above, "lanes are below each other")
				}
				if want.Row > 0 {
					assert.GreaterOrEqual(t, got.Top, first.Top+first.Height, "rows are below each other")
				}
				above = max(above, got.Top)
			}
		}
		assert.Len(t, bars, i)
		mark := b.boxes(".mark")[0]
		assert.InDelta(t, track.Left+track.Width/2, mark.Left, 1)
	}
}

// center returns the middle of an element.
func center(b *browser, id string) (x float64) {
	b.eval(`const r = document.getElementById("`+id+`").getBoundingClientRect(); return r.left + r.width/2`, &x)
	return x
}

// TestChromium_Keyboard: Tab reaches the bars at one stop, the arrows move between them, the focus shows
// the details, and + and - zoom without losing it.
func TestChromium_Keyboard(t *testing.T) {
	b, _ := shown(t, knownPage(t))
	focus := func() string { return b.text("document.activeElement.id") }
	b.press(keyTab, keyTab, keyTab)
	assert.Equal(t, "in", focus())
	for _, step := range []struct{ key, want string }{
		{keyTab, "b1"}, {keyRight, "b2"}, {keyRight, "b3"}, {keyLeft, "b2"}, {keyLeft, "b1"}, {keyLeft, "b1"},
		{keyEnd, "b4"}, {keyRight, "b4"}, {keyDown, "b7"}, {keyDown, "b8"}, {keyDown, "b8"}, {keyUp, "b6"}, {keyHome, "b5"}, {keyUp, "b1"}, {keyRight, "b2"},
	} {
		b.press(step.key)
		require.Equal(t, step.want, focus(), "%q", step.key)
		assert.Equal(t, "none", b.text(`[...document.querySelectorAll("main .bar[tabindex='0']")].map(e => e.id).filter(id => id != document.activeElement.id).join() || "none"`))
	}
	details := func() string { return b.text(`document.getElementById("details").innerText`) }
	assert.Equal(t, "app: exit 1from 10s to 25s, 15s (00:00:10.000 UTC)\nfirst run\nexit code 1 Error", strings.ReplaceAll(details(), "\n\n", "\n"))

	width := func() string { return b.text(`document.querySelector(".canvas").offsetWidth`) }
	fit := width()
	b.press("+", "+", "+", "+", "+", "+", "+", "+", "+")
	assert.NotEqual(t, fit, width())
	b.press(keyEnd)
	assert.Equal(t, "b4", focus())
	assert.Equal(t, "true", b.text(`(() => { const r = document.activeElement.getBoundingClientRect(), c = document.querySelector(".chart").getBoundingClientRect(), n = document.querySelector(".name").getBoundingClientRect();
		return r.left >= n.right && r.left < c.right })()`), "the bar is on the screen")
	assert.Equal(t, "2", b.text("document.documentElement.dataset.level"))
	b.press("-", "0")
	assert.Equal(t, fit, width())
	assert.Equal(t, "b4", focus())
	b.press(keyEscape)
	assert.Equal(t, "true", b.text(`document.getElementById("details").hidden`))
	b.press(keyTab)
	assert.NotContains(t, focus(), "b", "one stop for all bars")
}

// TestChromium_Colours: both colour schemes have their own colours, and every text has enough contrast.
func TestChromium_Colours(t *testing.T) {
	drawing := known()
	var every []timeline.Bar
	for i, class := range []timeline.Class{"plain", "waiting", "running", "succeeded", "failed", "backoff", "ending", "working", "passing", "failing", "warning"} {
		every = append(every, timeline.Bar{From: at(float64(9 * i)), To: at(float64(9*i + 8)), Class: class, Label: string(class)})
	}
	drawing.Lanes = append(drawing.Lanes, timeline.Lane{Name: "all", Kind: timeline.LaneStatus, Rows: 1, Bars: every})
	p := page.Draw("TestColours", drawing)
	b, _ := shown(t, p.HTML)
	backgrounds := map[string]string{}
	for _, scheme := range []string{"light", "dark"} {
		b.prefer(scheme)
		backgrounds[scheme] = b.text("getComputedStyle(document.body).backgroundColor")
		var contrasts map[string]float64
		b.eval(contrastScript, &contrasts)
		assert.Greater(t, len(contrasts), 15)
		for what, contrast := range contrasts {
			assert.GreaterOrEqual(t, contrast, 4.5, "%s in %s", what, scheme)
		}
	}
	assert.Equal(t, map[string]string{"light": "rgb(245, 246, 248)", "dark": "rgb(15, 18, 22)"}, backgrounds)
}

// contrastScript computes the contrast of each text with its background, as WCAG 2 defines it.
const contrastScript = `
const part = c => { c /= 255; return c <= 0.03928 ? c/12.92 : Math.pow((c+0.055)/1.055, 2.4) };
const rgb = s => s.match(/[\d.]+/g).map(Number);
const light = ([r, g, b]) => 0.2126*part(r) + 0.7152*part(g) + 0.0722*part(b);
const behind = e => { for (; e; e = e.parentElement) { const s = getComputedStyle(e);
	const c = rgb(s.getPropertyValue("--fill") && e.classList.contains("bar") && s.backgroundImage != "none" ? (e.style.color = s.getPropertyValue("--fill"), getComputedStyle(e).color) : s.backgroundColor);
	e.style.removeProperty("color");
	if (c.length < 4 || c[3] > 0) return c } return [255, 255, 255] };
const all = {};
for (const e of document.querySelectorAll("main .bar:not(.point), .name, h1, h2, header p, footer p, .legend li, .tick span, .mark span, .zoom button")) {
	const a = light(rgb(getComputedStyle(e).color)), b = light(behind(e));
	const key = e.className + " " + e.tagName;
	all[key] = Math.min(all[key] ?? 99, (Math.max(a, b)+0.05) / (Math.min(a, b)+0.05));
}
return all`

// TestChromium_Names: the accessible name of each bar has its label, its times and its details.
func TestChromium_Names(t *testing.T) {
	b, _ := shown(t, knownPage(t))
	var bars []map[string]string
	b.call("POST", "/elements", map[string]any{"using": "css selector", "value": "main .bar"}, &bars)
	require.Len(t, bars, 8)
	var names, roles []string
	for _, bar := range bars {
		for _, id := range bar {
			var name, role string
			b.call("GET", "/element/"+id+"/computedlabel", nil, &name)
			b.call("GET", "/element/"+id+"/computedrole", nil, &role)
			names, roles = append(names, name), append(roles, role)
		}
	}
	assert.Equal(t, "app: exit 1; from 10s to 25s, 15s (00:00:10.000 UTC); first run; exit code 1 Error", names[1])
	assert.Equal(t, "app actions: StartContainer; at 1m (00:01:00.000 UTC)", names[6])
	assert.Equal(t, slices.Repeat([]string{"button"}, 8), roles)
}

// TestChromium_NoRequests: the page requests nothing, its own policy blocks none of its parts, and injected
// content requests and runs nothing either.
func TestChromium_NoRequests(t *testing.T) {
	b, requests := shown(t, knownPage(t))
	b.press(keyTab, keyTab, keyTab, keyTab, "+", keyRight)
	assert.Empty(t, b.logged("browser"))
	assert.Equal(t, []string{"/page"}, requests())
	assert.Equal(t, []string{b.text("location.href")}, b.requested())

	evil := `<img src="/image"><link rel=stylesheet href="/style"><script src="/script"></script><script>document.title = "taken"</script><iframe src="/frame"></iframe><p style="color:red" id="red">x</p>`
	b, requests = shown(t, []byte(strings.Replace(string(knownPage(t)), "<main>", "<main>"+evil, 1)))
	assert.Equal(t, []string{"/page"}, requests())
	assert.Equal(t, "TestKnown", b.text("document.title"))
	assert.NotEqual(t, "rgb(255, 0, 0)", b.text(`getComputedStyle(document.getElementById("red")).color`))
	assert.Equal(t, 8, len(b.boxes("main .bar")))
}

// requested returns the addresses that the browser has sent requests to.
func (b *browser) requested() (urls []string) {
	b.t.Helper()
	for _, entry := range b.logged("performance") {
		var e struct {
			Message struct {
				Method string
				Params struct{ Request struct{ URL string } }
			}
		}
		_, text, _ := strings.Cut(entry, " ")
		require.NoError(b.t, json.Unmarshal([]byte(text), &e))
		if url := e.Message.Params.Request.URL; e.Message.Method == "Network.requestWillBeSent" && !strings.HasPrefix(url, "chrome:") && !strings.HasPrefix(url, "data:") {
			urls = append(urls, url)
		}
	}
	return urls
}

// TestChromium_Hostile: texts from outside are shown literally.
func TestChromium_Hostile(t *testing.T) {
	drawing := known()
	drawing.Pod = hostile
	drawing.Lanes[0].Bars[0].Label, drawing.Lanes[0].Bars[0].Details = hostile, []string{hostile}
	p := page.Draw(hostile, drawing)
	b, _ := shown(t, p.HTML)
	visible := strings.ReplaceAll(hostile, "\x00", "\uFFFD") // HTML has no such character.
	b.press(keyTab, keyTab, keyTab, keyTab)
	assert.Equal(t, visible, b.text(`document.querySelector("h2").textContent`))
	assert.Equal(t, visible, b.text(`document.querySelector("#b1").textContent`))
	assert.Equal(t, visible, b.text(`document.querySelector("#details p").textContent`))
	assert.Equal(t, "0", b.text(`document.querySelectorAll("img").length`))
	assert.Empty(t, b.logged("browser"))
}
