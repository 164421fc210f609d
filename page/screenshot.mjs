// A picture of a page, as documents show: node screenshot.mjs PAGE.html OUT.png [light|dark] [GROUPS] [WIDTHxHEIGHT]
// The browser is that of the environment variable CHROMIUM, or chromium.
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [file, out, colorScheme = "light", groups = "", size = "1280x1000"] = process.argv.slice(2);
const [width, height] = size.split("x").map(Number);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: process.getuid() === 0 ? ["--no-sandbox"] : [] });
const page = await browser.newPage({ viewport: { width, height }, colorScheme });
await page.goto(pathToFileURL(resolve(file)).href);
await page.waitForSelector("main[data-ready]");
if (groups) {
  await page.fill("#groups-wanted", groups);
  await page.evaluate(() => document.activeElement.blur());
}
await page.waitForTimeout(500);
await page.screenshot({ path: out });
await browser.close();
