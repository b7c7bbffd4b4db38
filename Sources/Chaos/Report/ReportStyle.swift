/// The looks of a report, in light and in dark.
///
/// Outcomes keep to colours that people with any kind of colour vision tell apart (Okabe and Ito),
/// and differ in form as well.
enum ReportStyle {
    static let css = """
        :root {
          --page: #fbfaf8; --card: #ffffff; --ink: #1c2430; --soft: #5b6675; --line: #d9dde3;
          --faint: #eceff2; --good: #00704f; --good-back: #e2f4ec; --bad: #b23a00; --bad-back: #fdeadd;
          --pushed: #007a5a; --in-sync: #7d8896; --retryable: #d55e00; --unavailable: #a3246b;
          --foreground: #8fc7ea; --background: #3f7fae; --suspended: #e4e7ec; --dead: #3b4452;
          --wal: #0072b2; --backlog: #b26b00; --off: #f0d9c8; --slow: #f3e3ae; --trouble: #f1d3e2;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --page: #12161c; --card: #1a2028; --ink: #e8ebf0; --soft: #9aa6b5; --line: #36404d;
            --faint: #252d37; --good: #5fd3a8; --good-back: #12332a; --bad: #ffa06b;
            --bad-back: #43230f; --pushed: #2fc493; --in-sync: #8a96a5; --retryable: #ff9147;
            --unavailable: #f07fbb; --foreground: #2f6f97; --background: #1f4a66;
            --suspended: #2a323d; --dead: #05070a; --wal: #56b4e9; --backlog: #e69f00;
            --off: #56311a; --slow: #4b4012; --trouble: #4c2239;
          }
        }
        * { box-sizing: border-box; }
        body { margin: 0; background: var(--page); color: var(--ink);
          font: 15px/1.5 system-ui, "Segoe UI", "Noto Sans", sans-serif; }
        main { max-width: 1240px; margin: 0 auto; padding: 28px 20px 60px; }
        header { border-left: 6px solid var(--good); padding: 2px 0 2px 18px; margin-bottom: 22px; }
        header.bad { border-color: var(--bad); }
        .badge { display: inline-block; margin: 0; padding: 3px 14px; border-radius: 99px;
          font-weight: 650; color: var(--good); background: var(--good-back); }
        .bad .badge { color: var(--bad); background: var(--bad-back); }
        h1 { margin: 8px 0 2px; font-size: 30px; line-height: 1.2; letter-spacing: -0.01em; }
        h2 { margin: 30px 0 8px; font-size: 18px; }
        .about { margin: 0; font-size: 17px; max-width: 75ch; }
        .why { margin: 6px 0; color: var(--bad); font-weight: 600; }
        .run { margin: 4px 0 0; color: var(--soft); }
        .tiles { display: grid; gap: 10px; margin-bottom: 18px;
          grid-template-columns: repeat(auto-fit, minmax(122px, 1fr)); }
        .tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
          padding: 10px 12px; }
        .tile b { display: block; font-size: 20px; font-variant-numeric: tabular-nums; }
        .tile span { color: var(--soft); font-size: 13px; line-height: 1.25; display: block; }
        .tile.bad { border-color: var(--bad); } .tile.bad b { color: var(--bad); }
        figure { margin: 0; padding: 16px 14px 12px; background: var(--card);
          border: 1px solid var(--line); border-radius: 12px; overflow-x: auto; }
        .timeline { display: block; width: 100%; min-width: 820px; height: auto; }
        figcaption { display: flex; flex-wrap: wrap; gap: 4px 18px; padding: 8px 6px 0 92px;
          color: var(--soft); font-size: 13px; }
        .symbol { font-style: normal; margin-right: 6px; }
        .symbol.pushed { color: var(--pushed); } .symbol.in-sync { color: var(--in-sync); }
        .symbol.retryable { color: var(--retryable); }
        .symbol.unavailable { color: var(--unavailable); }
        .symbol.launch { color: var(--wal); } .symbol.death { color: var(--bad); }
        .symbol.foreign { color: var(--backlog); }
        table { border-collapse: collapse; width: 100%; background: var(--card);
          border: 1px solid var(--line); font-variant-numeric: tabular-nums; }
        th, td { text-align: left; padding: 5px 12px; border-top: 1px solid var(--faint);
          vertical-align: top; overflow-wrap: anywhere; }
        th { color: var(--soft); font-weight: 600; font-size: 13px; border-top: 0; }
        tr.bad td { color: var(--bad); font-weight: 600; background: var(--bad-back); }
        details { margin-top: 28px; } summary { cursor: pointer; font-weight: 600; padding: 6px 0; }
        svg text { font: 12px system-ui, "Segoe UI", "Noto Sans", sans-serif; fill: var(--ink); }
        svg .name { text-anchor: end; font-weight: 600; }
        svg .scale { text-anchor: end; fill: var(--soft); font-size: 11px; }
        svg .tick { text-anchor: middle; fill: var(--soft); }
        .grid { stroke: var(--faint); } .faint { stroke: var(--line); stroke-dasharray: 2 5; }
        .axis { stroke: var(--line); } .hatch { fill: var(--soft); opacity: 0.28; }
        .suspended { fill: var(--suspended); } .off { fill: var(--off); }
        .phase-foreground { fill: var(--foreground); } .phase-background { fill: var(--background); }
        .phase-suspended { fill: url(#stopped); } .phase-dead { fill: var(--dead); }
        svg .on-foreground, svg .on-suspended { text-anchor: middle; }
        svg .on-background, svg .on-dead { text-anchor: middle; fill: #ffffff; }
        .push .stem { stroke-width: 1.6; opacity: 0.75; } .push .length { opacity: 0.4; }
        .pushed .stem { stroke: var(--pushed); } .pushed .head, .pushed .length { fill: var(--pushed); }
        .in-sync .stem { stroke: var(--in-sync); }
        .in-sync .head { fill: var(--card); stroke: var(--in-sync); stroke-width: 1.4; }
        .in-sync .length { fill: var(--in-sync); }
        .retryable .stem { stroke: var(--retryable); }
        .retryable .head, .retryable .length { fill: var(--retryable); }
        .unavailable .stem { stroke: var(--unavailable); }
        .unavailable .head, .unavailable .length { fill: var(--unavailable); }
        .ring-snapshot { fill: none; stroke: var(--ink); stroke-width: 1.4; }
        .ring-rescan { fill: none; stroke: var(--ink); stroke-width: 1.4; stroke-dasharray: 2.5 2.5; }
        .mark .head { fill: var(--soft); } .launch .head { fill: var(--wal); }
        .foreign .head { fill: var(--backlog); }
        .cross { stroke: var(--bad); stroke-width: 2.4; } .lock { stroke: var(--bad); }
        .area-wal { fill: var(--wal); opacity: 0.22; } .area-backlog { fill: var(--backlog); opacity: 0.24; }
        .line-wal { fill: none; stroke: var(--wal); stroke-width: 1.5; }
        .line-backlog { fill: none; stroke: var(--backlog); stroke-width: 1.5; }
        .target { fill: transparent; }
        .calm-network { stroke: var(--pushed); stroke-width: 3; } .calm-trouble { stroke: var(--line); }
        .network-off { fill: url(#away); } .network-slow { fill: var(--slow); }
        .network-flapping { fill: var(--slow); stroke: var(--retryable); stroke-dasharray: 3 3; }
        .trouble { fill: var(--trouble); }
        svg .on-network-off, svg .on-network-slow, svg .on-network-flapping, svg .on-trouble {
          text-anchor: middle; font-size: 11px; }
        g:hover > .head, g:hover > .stem { filter: brightness(1.25); }

        """
}
